"""`python -m affidavit` is the command `affidavit`."""

from affidavit.cli.main import main

if __name__ == "__main__":
    main()
