#!/bin/sh
# Spark runs `$JAVA_HOME/bin/java`, or else the `java` on the PATH, and needs version 17 or later.
set -eu

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
major=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1) || major=
[ "${major:-0}" -ge 17 ] && exit 0

case $(uname -s) in
    Darwin) how='brew install openjdk@17, then export JAVA_HOME="$(brew --prefix openjdk@17)"' ;;
    *) how='Debian and Ubuntu: apt-get install openjdk-17-jre-headless; elsewhere: any JDK 17+, on the PATH or as JAVA_HOME' ;;
esac
echo "anabranch needs a JDK 17 or later (found: ${major:-none}${JAVA_HOME:+ in JAVA_HOME=$JAVA_HOME}); install one: $how" >&2
exit 1
