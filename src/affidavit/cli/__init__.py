"""The command line: parse, call one use case, render. No rule of the product lives here."""
