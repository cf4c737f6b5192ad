#!/bin/sh
# usage: check_python.sh <python>. It must be 3.11 or later and able to make virtual environments.
set -eu

if ! "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "anabranch needs Python 3.11 or later, and $1 is none; install one, or name it: make PYTHON=python3.12 …" >&2
    exit 1
fi
if ! "$1" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "$1 can't make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2
    exit 1
fi
