import argparse

from rle import encode

parser = argparse.ArgumentParser(prog="rle", description="run-length encoding")
parser.add_argument("text")
print(encode(parser.parse_args().text))
