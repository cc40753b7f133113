from setuptools import Extension, setup

setup(packages=["rle"], ext_modules=[Extension("rle._rle", ["rle/_rle.c"])])
