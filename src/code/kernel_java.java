// SPDX-License-Identifier: Apache-2.0
// The Java of a context: the JDK's own shell without its terminal, inside the sandbox; code/code.h tells how it is talked to. The
// blocks run in this process, which is one Java less.
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import jdk.jshell.*;

public class AtollKernel {
	static final int PIECE_MAX = 4000;
	static final int TEXT_MAX = 256 << 10;
	static final int HEAD_SIZE = 35;
	static final String[] PACKAGES = {
		"java.io", "java.math", "java.net", "java.nio.file", "java.time", "java.util", "java.util.concurrent", "java.util.function",
		"java.util.regex", "java.util.stream",
	};
	static final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
	static final FileOutputStream err = new FileOutputStream(FileDescriptor.err);
	static volatile String nonce = "";
	static volatile boolean isInterrupted;
	static int count;
	static JShell shell;

	// ---- to the server ----

	static String quoted(String text) {
		StringBuilder made = new StringBuilder("\"");
		for (int i = 0; i < text.length() && i < TEXT_MAX; i++) {
			char c = text.charAt(i);
			if (c == '"' || c == '\\') made.append('\\').append(c);
			else if (c < 32 || c > 126) made.append(String.format("\\u%04x", (int)c));
			else made.append(c);
		}
		return made.append('"').toString();
	}

	// All of it is ASCII, so that it can be cut anywhere.
	static synchronized void send(String... members) {
		StringBuilder text = new StringBuilder("{");
		for (int i = 0; i < members.length; i += 2)
			text.append(i > 0 ? ",\"" : "\"").append(members[i]).append("\":").append(members[i + 1]);
		text.append('}');
		try {
			for (int at = 0; at < text.length(); at += PIECE_MAX) {
				int end = Math.min(at + PIECE_MAX, text.length());
				String piece = "\u001e" + nonce + (end < text.length() ? '+' : '.') + text.substring(at, end) + "\n";
				out.write(piece.getBytes(StandardCharsets.US_ASCII));
			}
		} catch (IOException e) {
			Runtime.getRuntime().halt(1);
		}
	}

	// What goes to stderr is told in between, so that it keeps its place among the output.
	static class Complaints extends OutputStream {
		@Override
		public void write(int one) throws IOException {
			write(new byte[] {(byte)one}, 0, 1);
		}

		@Override
		public void write(byte[] bytes, int from, int size) throws IOException {
			if (nonce.isEmpty()) err.write(bytes, from, size);
			else send("type", "\"stderr\"", "text", quoted(new String(bytes, from, size, StandardCharsets.UTF_8)));
		}
	}

	static void tellError(String name, String value, String traceback) {
		send("type", "\"error\"", "name", quoted(name), "value", quoted(value == null ? "" : value), "traceback", quoted(traceback));
	}

	// ---- code ----

	static String shown(String value) {
		int last = value.length() - 1;
		return last > 0 && value.charAt(0) == '"' && value.charAt(last) == '"' ? value.substring(1, last) : value;
	}

	static boolean isValue(Snippet snippet) {
		switch (snippet.subKind()) {
		case TEMP_VAR_EXPRESSION_SUBKIND:
		case VAR_VALUE_SUBKIND:
		case OTHER_EXPRESSION_SUBKIND:
			return true;
		default:
			return false;
		}
	}

	// Lines of an exception, without those of the shell.
	static String traceOf(EvalException e) {
		StringBuilder text = new StringBuilder(e.getExceptionClassName());
		if (e.getMessage() != null) text.append(": ").append(e.getMessage());
		for (StackTraceElement one : e.getStackTrace()) {
			if (one.getClassName().startsWith("jdk.jshell") || one.getClassName().startsWith("AtollKernel")) break;
			text.append("\n\tat ").append(one);
		}
		return text.toString();
	}

	static void tellException(JShellException e) {
		if (e instanceof EvalException) {
			EvalException thrown = (EvalException)e;
			tellError(thrown.getExceptionClassName(), thrown.getMessage(), traceOf(thrown));
			return;
		}
		Snippet snippet = ((UnresolvedReferenceException)e).getSnippet();
		StringJoiner names = new StringJoiner(", ");
		shell.unresolvedDependencies((DeclarationSnippet)snippet).forEach(names::add);
		tellError("UnresolvedReferenceException", "not declared yet: " + names, "UnresolvedReferenceException: not declared yet: " + names);
	}

	static void tellRejected(Snippet snippet, String source, int line) {
		StringBuilder value = new StringBuilder();
		StringBuilder trace = new StringBuilder("SyntaxError: ");
		shell.diagnostics(snippet).filter(Diag::isError).forEach(one -> {
			int at = (int)Math.max(0, Math.min(one.getPosition(), source.length()));
			long lines = line + source.substring(0, at).chars().filter(c -> c == '\n').count();
			value.append(value.length() > 0 ? "\n" : "").append(one.getMessage(Locale.US));
			trace.append(trace.length() > 13 ? "\n" : "").append(one.getMessage(Locale.US)).append("\n    at line ").append(lines).append(" of the block");
		});
		tellError("SyntaxError", value.length() > 0 ? value.toString() : "the block is not complete", trace.toString());
	}

	// False = the rest of the block does not run.
	static boolean tell(SnippetEvent event, String source, int line, boolean isLast) {
		if (event.causeSnippet() != null) return true;
		if (event.exception() != null && !isInterrupted) tellException(event.exception());
		else if (event.status() == Snippet.Status.REJECTED) tellRejected(event.snippet(), source, line);
		if (event.exception() != null || event.status() == Snippet.Status.REJECTED || isInterrupted) return false;
		if (isLast && event.value() != null && !event.value().isEmpty() && isValue(event.snippet()))
			send("type", "\"result\"", "main", "true", "text", quoted(shown(event.value())));
		return true;
	}

	static void evaluate(String code) {
		SourceCodeAnalysis analysis = shell.sourceCodeAnalysis();
		String rest = code;
		while (!rest.isBlank() && !isInterrupted) {
			SourceCodeAnalysis.CompletionInfo info = analysis.analyzeCompletion(rest);
			String source = info.completeness().isComplete() ? info.source() : rest;
			String after = info.completeness().isComplete() ? info.remaining() : "";
			int line = 1 + (int)code.substring(0, code.length() - rest.length()).chars().filter(c -> c == '\n').count();
			for (SnippetEvent event : shell.eval(source))
				if (!tell(event, source, line, after.isBlank())) return;
			rest = after;
		}
	}

	// The variables of the process cannot change: a block sees them as properties, too.
	static Map<String, String> setProperties(String[] entries) {
		Map<String, String> old = new HashMap<>();
		for (String entry : entries) {
			int at = entry.indexOf('=');
			if (at > 0) old.put(entry.substring(0, at), System.setProperty(entry.substring(0, at), entry.substring(at + 1)));
		}
		return old;
	}

	static void run(String code, String[] entries) throws IOException {
		isInterrupted = false;
		send("type", "\"begin\"", "count", String.valueOf(++count));
		Map<String, String> old = setProperties(entries);
		try {
			evaluate(code);
		} catch (RuntimeException e) {
			if (!isInterrupted) tellError(e.getClass().getName(), e.getMessage(), String.valueOf(e));
		}
		if (isInterrupted)
			tellError("KeyboardInterrupt", "the block was interrupted", "KeyboardInterrupt: the block was interrupted");
		old.forEach((key, value) -> {
			if (value == null) System.clearProperty(key);
			else System.setProperty(key, value);
		});
		System.out.flush();
		System.err.flush();
		send("type", "\"end\"");
		err.write(("\u001e" + nonce + ".\n").getBytes(StandardCharsets.US_ASCII));
	}

	// ---- from the server ----

	static void prepare() {
		System.setIn(new ByteArrayInputStream(new byte[0]));
		System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
		System.setErr(new PrintStream(new Complaints(), true, StandardCharsets.UTF_8));
		System.getenv().forEach((key, value) -> {
			if (System.getProperty(key) == null) System.setProperty(key, value);
		});
		shell = JShell.builder().executionEngine("local").build();
		for (String one : PACKAGES) shell.eval("import " + one + ".*;");
		sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> {
			isInterrupted = true;
			shell.stop();
		});
	}

	public static void main(String[] args) throws IOException {
		DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in)));
		File source = new File(args[0]);
		source.delete();
		source.getParentFile().delete();
		prepare();
		try {
			while (true) {
				byte[] head = new byte[HEAD_SIZE];
				in.readFully(head);
				String[] words = new String(head, StandardCharsets.US_ASCII).trim().split(" ");
				byte[] code = new byte[Integer.parseInt(words[1])];
				byte[] env = new byte[Integer.parseInt(words[2])];
				in.readFully(code);
				in.readFully(env);
				nonce = words[0];
				run(new String(code, StandardCharsets.UTF_8), new String(env, StandardCharsets.UTF_8).split("\0"));
				nonce = "";
			}
		} catch (EOFException e) {
			System.exit(0);
		}
	}
}
