"""`python -m anabranch` is the command line."""

from anabranch.cli.entry import main

if __name__ == "__main__":
    main()
