#!/bin/sh
# The browser tests drive Debian's Chromium. Where it is missing and can be installed, install it; else say how.
# ANABRANCH_NO_BROWSER=1 leaves it, and those tests, out.
set -eu

[ "${ANABRANCH_NO_BROWSER:-}" = 1 ] && exit 0
[ -n "${ANABRANCH_CHROMIUM:-}" ] && exit 0
command -v chromium >/dev/null 2>&1 && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing chromium with apt-get (once)"
    if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; then
        exit 0
    fi
    echo "chromium could not be installed" >&2
fi
echo "the browser tests need Chromium, and will fail: install it (Debian: apt-get install chromium), name one with" >&2
echo "ANABRANCH_CHROMIUM=/path/to/chromium, or leave these tests out with ANABRANCH_NO_BROWSER=1" >&2
