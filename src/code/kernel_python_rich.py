# SPDX-License-Identifier: Apache-2.0
# The part of kernel_python.py that few blocks of code need: figures and their data, tables, `!` and
# `%` lines, await, and IPython's names. Compiled when the first of them is asked for.
import base64
import builtins
import functools
import importlib.machinery
import json
import math
import os
import re
import subprocess
import sys
import time

POINTS_MAX = 20000  # of one chart's series
TABLE_MAX = 1 << 20  # bytes of a table as data


# ---- JSON ----


def clean(value, depth=0):
    """As JSON has it: what is no number, text, list or map is text; NaN is null."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > 24:
        return None
    if isinstance(value, dict):
        return {str(key): clean(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [clean(one, depth + 1) for one in value]
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return clean(value.item(), depth + 1)
    if hasattr(value, "tolist"):
        return clean(value.tolist(), depth + 1)
    return str(value)


def to_json(value):
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            pass
    text = attempt(lambda: json.dumps(clean(value)).replace("\\u0000", "\\ufffd"))
    return None if text is None else Json(text)


# ---- what is known of other libraries ----


def bundle_of_known(value):
    known = {}
    names = [t.__name__ for t in type(value).__mro__]
    if "Figure" in names and hasattr(value, "savefig"):
        known = bundle_of_figure(value)
        forget_figure(value)
    elif "DataFrame" in names:
        data = attempt(lambda: to_json(value.to_dict(orient="list")))
        if data and len(data) <= TABLE_MAX:
            known["data"] = Json(data)
    return known, {}


def bundle_of_figure(figure):
    import io
    out = io.BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight")
    known = {"text": repr(figure), "png": out.getvalue()}
    chart = attempt(chart_of, figure)
    if chart:
        known["chart"] = chart
    return known


def forget_figure(figure):
    plt = sys.modules.get("matplotlib.pyplot")
    if plt:
        plt.close(figure)


def show(*args, **options):
    """Every figure that is open, each once."""
    plt = sys.modules["matplotlib.pyplot"]
    try:
        for number in plt.get_fignums():
            tell_result(bundle_of_figure(plt.figure(number)), {}, False)
    finally:
        plt.close("all")


def on_pyplot(module):
    module.show = show
    axes = sys.modules["matplotlib.axes"].Axes
    draw = axes.bxp

    def bxp(self, bxpstats, *args, **options):
        self.atoll_boxes = list(getattr(self, "atoll_boxes", [])) + list(bxpstats)
        return draw(self, bxpstats, *args, **options)

    bxp.__doc__ = draw.__doc__
    axes.bxp = bxp


def on_image_show(module):
    """Before the viewers that open a window: there is no screen."""
    class Viewer(module.Viewer):
        def show(self, image, **options):
            display(image)
            return 1

    module.register(Viewer(), 0)


def on_image(module):
    """An image that a block saves to a file is a result, too; not a figure, which is shown at the end."""
    save = module.Image.save

    @functools.wraps(save)
    def save_and_display(self, fp, format=None, **options):
        save(self, fp, format, **options)
        caller = sys._getframe(1).f_globals.get("__name__") or ""
        if isinstance(fp, (str, os.PathLike)) and caller.split(".")[0] not in ("matplotlib", "PIL"):
            display(self)

    module.Image.save = save_and_display


# ---- charts ----


def unit_of(label):
    found = re.search(r"\(([^()]*)\)\s*$|\[([^\[\]]*)\]\s*$", label)
    return found.group(1) or found.group(2) if found else None


def scale_of(axis):
    from matplotlib import category, dates
    if isinstance(axis.get_converter() if hasattr(axis, "get_converter") else axis.converter,
                  category.StrCategoryConverter):
        return "categorical"
    if isinstance(axis.get_major_locator(), dates.DateLocator):
        return "datetime"
    return axis.get_scale()


def as_points(values, scale, labels):
    if scale == "datetime":
        from matplotlib import dates
        return [one.isoformat() for one in dates.num2date(values)]
    if scale == "categorical":
        return [labels.get(float(one), str(one)) for one in values]
    return [float(one) for one in values]


def of_axes(ax):
    return {"title": ax.get_title() or None, "x_label": ax.get_xlabel() or None, "y_label": ax.get_ylabel() or None,
            "x_unit": unit_of(ax.get_xlabel()), "y_unit": unit_of(ax.get_ylabel())}


def point_chart(ax, kind, series):
    chart = {"type": kind, **of_axes(ax)}
    sides = []
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        scale = scale_of(axis)
        ticks = [float(one) for one in axis.get_ticklocs()]
        labels = [one.get_text() for one in axis.get_ticklabels()]
        names = dict(zip(ticks, labels))
        chart.update({name + "_ticks": as_points(ticks, scale, names), name + "_tick_labels": labels,
                      name + "_scale": scale})
        sides.append((scale, names))
    chart["elements"] = [
        {"label": label, "points": [list(one) for one in zip(as_points(xs, *sides[0]), as_points(ys, *sides[1]))]}
        for label, xs, ys in series]
    return chart


def label_of(thing, number):
    label = str(thing.get_label())
    return label if label and not label.startswith("_") else f"Line {number + 1}"


def lines_of(ax):
    import numpy
    return [(label_of(line, i), numpy.ravel(line.get_xdata(False))[:POINTS_MAX], numpy.ravel(line.get_ydata(False))[:POINTS_MAX])
            for i, line in enumerate(ax.get_lines())]


def to_numbers(ax, series):
    """Dates and names as matplotlib has placed them."""
    return [(label, ax.convert_xunits(xs), ax.convert_yunits(ys)) for label, xs, ys in series]


def scatters_of(ax):
    from matplotlib.collections import PathCollection
    found = [one for one in ax.collections if isinstance(one, PathCollection)]
    return [(label_of(one, i), one.get_offsets()[:POINTS_MAX, 0], one.get_offsets()[:POINTS_MAX, 1])
            for i, one in enumerate(found)]


def bar_chart(ax, groups):
    elements = []
    flat = all(getattr(group, "orientation", "vertical") == "horizontal" for group in groups)
    axis = ax.yaxis if flat else ax.xaxis
    names = dict(zip([round(float(one), 6) for one in axis.get_ticklocs()],
                     [one.get_text() for one in axis.get_ticklabels()]))
    for number, group in enumerate(groups):
        label = label_of(group, number).replace("Line", "Group")
        for bar in group.patches[:POINTS_MAX]:
            at = bar.get_y() + bar.get_height() / 2 if flat else bar.get_x() + bar.get_width() / 2
            near = min(names, key=lambda one: abs(one - at)) if names else None
            name = names[near] if near is not None and abs(near - at) <= 0.5 else f"{at:g}"
            elements.append({"label": name, "group": label,
                             "value": float(bar.get_width() if flat else bar.get_height())})
    return {"type": "bar", **of_axes(ax), "elements": elements}


def pie_chart(ax, wedges):
    return {"type": "pie", "title": ax.get_title() or None, "elements": [
        {"label": str(one.get_label()), "angle": round(abs(float(one.theta2 - one.theta1)), 2), "radius": float(one.r)}
        for one in wedges]}


def box_chart(ax, boxes):
    labels = [one.get_text() for one in ax.xaxis.get_ticklabels()]
    elements = []
    for i, box in enumerate(boxes):
        given = box.get("label")
        label = str(given) if given not in (None, "") else labels[i] if i < len(labels) else str(i + 1)
        elements.append({"label": label, "min": float(box["whislo"]), "first_quartile": float(box["q1"]),
                         "median": float(box["med"]), "third_quartile": float(box["q3"]),
                         "max": float(box["whishi"]), "outliers": [float(one) for one in box.get("fliers", [])]})
    return {"type": "box_and_whisker", **of_axes(ax), "elements": elements}


def chart_of_axes(ax):
    from matplotlib.container import BarContainer
    from matplotlib.patches import Wedge
    wedges = [one for one in ax.patches if isinstance(one, Wedge)]
    groups = [one for one in ax.containers if isinstance(one, BarContainer) and len(one.patches)]
    if wedges:
        return pie_chart(ax, wedges)
    if getattr(ax, "atoll_boxes", None):
        return box_chart(ax, ax.atoll_boxes)
    if groups:
        return bar_chart(ax, groups)
    if ax.get_lines():
        return point_chart(ax, "line", to_numbers(ax, lines_of(ax)))
    points = scatters_of(ax)
    if points:
        return point_chart(ax, "scatter", points)
    return {"type": "unknown", "title": ax.get_title() or None, "elements": []} if ax.has_data() else None


def chart_of(figure):
    charts = [one for one in map(chart_of_axes, figure.axes) if one]
    if len(charts) > 1:
        title = figure._suptitle.get_text() if getattr(figure, "_suptitle", None) else None
        return {"type": "superchart", "title": title or None, "elements": charts}
    return charts[0] if charts else None


# ---- await ----


def wait_for(coroutine):
    """One loop for all blocks; tasks that are left go on when the next one waits."""
    import asyncio
    if state.loop is None or state.loop.is_closed():
        state.loop = asyncio.new_event_loop()
    asyncio.set_event_loop(state.loop)
    task = state.loop.create_task(coroutine)
    try:
        return state.loop.run_until_complete(task)
    except KeyboardInterrupt:
        task.cancel()
        try:
            state.loop.run_until_complete(task)
        except BaseException:
            pass
        raise


# ---- `!` and `%` lines ----

ASSIGN = re.compile(r"^(\s*)([A-Za-z_][\w.,\s\[\]'\"]*?=\s*)([!%])(.*)$")
LINE = re.compile(r"^(\s*)([!%])(.*)$")
CELL = re.compile(r"^%%(\w+)[ \t]*([^\n]*)\n?", re.S)


def rewrite(code):
    """Lines that are for the shell, or magic, as calls. What is not ours stays: Python tells what
    is wrong with it."""
    found = CELL.match(code.lstrip("\n"))
    if found:
        rest = code.lstrip("\n")[found.end():]
        return f"__atoll_cell__({found.group(1)!r}, {found.group(2)!r}, {rest!r})"
    lines, out = code.split("\n"), []
    while lines:
        line = lines.pop(0)
        given, found = ASSIGN.match(line), LINE.match(line)
        if given or found:
            while line.endswith("\\") and lines:
                line = line[:-1] + lines.pop(0).lstrip()
            given, found = ASSIGN.match(line), LINE.match(line)
        if found:
            call = "__atoll_shell__" if found.group(2) == "!" else "__atoll_magic__"
            line = f"{found.group(1)}{call}({found.group(3)!r})"
        elif given:
            call = "__atoll_lines__" if given.group(3) == "!" else "__atoll_magic__"
            line = f"{given.group(1)}{given.group(2)}{call}({given.group(4)!r})"
        out.append(line)
    return "\n".join(out)


def fill(text):
    """{expression} of Python's; what cannot be worked out is left to the shell."""
    scope = sys.modules["__main__"].__dict__

    def one(found):
        try:
            return str(eval(found.group(1), scope))
        except Exception:
            return found.group(0)
    return re.sub(r"(?<!\$)\{([^{}]+)\}", one, text)


def shell_args(text):
    shell = next((one for one in ("/bin/bash", "/usr/bin/bash") if os.access(one, os.X_OK)), "/bin/sh")
    return [shell, "-c", text]


def run_shell(text):
    flush()
    scope = sys.modules["__main__"].__dict__
    scope["_exit_code"] = subprocess.run(shell_args(fill(text))).returncode


def shell_lines(text):
    flush()
    result = subprocess.run(shell_args(fill(text)), stdout=subprocess.PIPE)
    sys.modules["__main__"].__dict__["_exit_code"] = result.returncode
    return result.stdout.decode("utf-8", "replace").splitlines()


def run_python(text):
    """In the cell's namespace, as if it were a cell of its own."""
    exec(compile(text, "<magic>", "exec"), sys.modules["__main__"].__dict__)


def magic_cd(rest):
    os.chdir(os.path.expanduser(fill(rest.strip()) or "~"))
    print(os.getcwd())


def magic_pip(rest):
    flush()
    status = subprocess.run([sys.executable or "python3", "-m", "pip", *fill(rest).split()]).returncode
    importlib.invalidate_caches()
    if status:
        raise RuntimeError(f"pip ended with {status}")


def magic_env(rest):
    key, sign, value = rest.strip().partition("=")
    if sign:
        os.environ[key.strip()] = fill(value.strip())
        print(f"env: {key.strip()}={os.environ[key.strip()]}")
        return None
    return os.environ.get(key.strip()) if key else dict(os.environ)


def told_time(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def magic_time(rest):
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        run_python(rest.strip())
    finally:
        print(f"CPU times: {told_time(time.process_time() - cpu)}")
        print(f"Wall time: {told_time(time.perf_counter() - wall)}")


def magic_timeit(rest):
    import timeit
    timer = timeit.Timer(rest.strip(), globals=sys.modules["__main__"].__dict__)
    number, _ = timer.autorange()
    best = min(timer.repeat(5, number)) / number
    print(f"{told_time(best)} per loop (best of 5, {number} loops each)")


def magic_nothing(rest):
    pass


MAGICS = {
    "pip": magic_pip, "cd": magic_cd, "env": magic_env, "set_env": lambda rest: magic_env(rest.replace(" ", "=", 1)),
    "time": magic_time, "timeit": magic_timeit, "pwd": lambda rest: os.getcwd(),
    "ls": lambda rest: run_shell("ls " + rest), "sx": shell_lines, "matplotlib": magic_nothing,
    "config": magic_nothing, "load_ext": magic_nothing, "autoreload": magic_nothing,
}


def run_magic(text):
    name, _, rest = text.strip().partition(" ")
    if name not in MAGICS:
        raise NameError(f"%{name} is no magic that there is: {', '.join(sorted(MAGICS))}")
    return MAGICS[name](rest)


def run_cell_magic(name, rest, body):
    if name in ("bash", "sh", "shell"):
        run_shell_script(body)
    elif name == "writefile":
        with open(os.path.expanduser(fill(rest.strip())), "w") as file:
            file.write(body)
        print(f"Writing {rest.strip()}")
    elif name in ("html", "markdown", "latex", "javascript", "svg"):
        tell_result({name: body, "text": body}, {}, False)
    elif name == "time":
        magic_time(body)
    elif name == "timeit":
        magic_timeit(rest + "\n" + body if rest.strip() else body)
    else:
        raise NameError(f"%%{name} is no magic that there is: "
                        "bash, html, javascript, latex, markdown, sh, svg, time, timeit, writefile")


def run_shell_script(body):
    flush()
    status = subprocess.run(shell_args(body)).returncode
    if status:
        raise subprocess.CalledProcessError(status, "%%bash")


builtins.__atoll_shell__, builtins.__atoll_lines__ = run_shell, shell_lines
builtins.__atoll_magic__, builtins.__atoll_cell__ = run_magic, run_cell_magic


# ---- IPython's names ----


def on_ipython(module):
    module.display = display


class Shown:
    """A value with one representation, given as data, or as a file or address to read it from."""
    hook = "html"

    def __init__(self, data=None, url=None, filename=None, metadata=None, **options):
        self.metadata = metadata
        if filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
            if self.hook not in ("png", "jpeg"):
                data = data.decode()
        elif url is not None and data is None:
            import urllib.request
            with urllib.request.urlopen(url) as answer:
                data = answer.read()
        self.data = data

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        mime = next(mime for mime, name in MIME_OF.items() if name == self.hook)
        return {mime: self.data}


MIME_OF = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg",
           "image/png": "png", "image/jpeg": "jpeg", "text/latex": "latex", "application/pdf": "pdf",
           "application/json": "json", "application/javascript": "javascript",
           "application/geo+json": "geojson"}


class Image(Shown):
    hook = "png"

    def __init__(self, data=None, url=None, filename=None, format=None, **options):
        if isinstance(data, str) and filename is None and url is None:
            data, filename = (None, data) if os.path.exists(data) else (data, None)
        super().__init__(data, url, filename)
        if format in ("jpeg", "jpg") or (isinstance(self.data, bytes) and self.data[:3] == b"\xff\xd8\xff"):
            self.hook = "jpeg"


class Math(Shown):
    hook = "latex"

    def __init__(self, data=None, **options):
        super().__init__(f"$\\displaystyle {data}$" if data is not None else None, **options)


class Pretty(Shown):
    hook = "text"


class IFrame:
    def __init__(self, src, width, height, **options):
        self.src, self.width, self.height = src, width, height

    def _repr_html_(self):
        return f'<iframe width="{self.width}" height="{self.height}" src="{self.src}" frameborder="0"></iframe>'


def shown(name, hook):
    return type(name, (Shown,), {"hook": hook})


def spec_of_ipython(name):
    class Loader:
        def create_module(self, spec):
            return None

        def exec_module(self, module):
            module.__path__ = []
            if not name.endswith("display"):
                # Others ask by these names whether IPython is what runs them: it is not.
                module.get_ipython, module.version_info, module.__version__ = lambda: None, (8, 0, 0), "8.0.0"
                return
            for made, hook in (("HTML", "html"), ("Markdown", "markdown"), ("SVG", "svg"), ("JSON", "json"),
                               ("Javascript", "javascript"), ("Latex", "latex"), ("GeoJSON", "geojson")):
                setattr(module, made, shown(made, hook))
            module.Image, module.Math, module.Pretty, module.IFrame = Image, Math, Pretty, IFrame
            module.display, module.clear_output = display, lambda wait=False: None
    return importlib.machinery.ModuleSpec(name, Loader())
