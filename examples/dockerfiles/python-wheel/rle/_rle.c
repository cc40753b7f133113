#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *encode(PyObject *self, PyObject *args)
{
	const char *text;
	Py_ssize_t size;
	PyObject *parts, *joined, *empty;

	(void)self;
	if (!PyArg_ParseTuple(args, "s#", &text, &size))
		return NULL;
	parts = PyList_New(0);
	for (Py_ssize_t i = 0; parts && i < size;) {
		Py_ssize_t end = i;
		PyObject *part;
		int failed;

		while (end < size && text[end] == text[i])
			end++;
		part = PyUnicode_FromFormat("%zd%c", end - i, text[i] & 0x7f);
		failed = !part || PyList_Append(parts, part) < 0;
		Py_XDECREF(part);
		if (failed)
			Py_CLEAR(parts);
		i = end;
	}
	empty = PyUnicode_FromString("");
	joined = parts && empty ? PyUnicode_Join(empty, parts) : NULL;
	Py_XDECREF(parts);
	Py_XDECREF(empty);
	return joined;
}

static PyMethodDef methods[] = {
        {"encode", encode, METH_VARARGS, "Encodes ASCII text."},
        {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {
        PyModuleDef_HEAD_INIT, "_rle", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__rle(void)
{
	return PyModule_Create(&module);
}
