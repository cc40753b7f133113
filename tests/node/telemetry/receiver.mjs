// SPDX-License-Identifier: Apache-2.0
// A collector for tests: decodes OTLP over HTTP with JSON bodies by the message types of OpenTelemetry's own package, and prints
// each export as a line of JSON. What the types do not know, or know as another type, is a mistake: the message is encoded as
// protobuf, decoded again and compared with what came.
import { createRequire } from "node:module";
import http from "node:http";

const root = createRequire(import.meta.url)("@opentelemetry/otlp-transformer/build/src/generated/root.js");
const proto = root.opentelemetry.proto.collector;
const types = {
	"/v1/traces": proto.trace.v1.ExportTraceServiceRequest,
	"/v1/metrics": proto.metrics.v1.ExportMetricsServiceRequest,
};
const idSizes = { traceId: 32, spanId: 16, parentSpanId: 16 };

// OTLP's JSON has ids as hexadecimal digits, other than protobuf's.
function mapIds(value, change) {
	if (Array.isArray(value)) return value.map((item) => mapIds(item, change));
	if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
	return Object.fromEntries(
		Object.entries(value).map(([name, inner]) => [name, name in idSizes ? change(name, inner) : mapIds(inner, change)]),
	);
}

function toBytes(name, digits) {
	if (typeof digits !== "string" || !/^[0-9a-f]*$/.test(digits) || digits.length !== idSizes[name])
		throw new Error(`${name} is '${digits}'`);
	return Buffer.from(digits, "hex");
}

// 64-bit numbers are texts; a text in place of a 32-bit number or an enum would pass as a number, so both are compared as texts.
function checkSame(came, read, path) {
	if (Array.isArray(came)) {
		if (!Array.isArray(read) || read.length !== came.length) throw new Error(`${path}: ${came.length} items became ${read?.length}`);
		came.forEach((item, i) => checkSame(item, read[i], `${path}[${i}]`));
	} else if (came !== null && typeof came === "object") {
		for (const name of Object.keys(came)) {
			if (read === undefined || !(name in read)) throw new Error(`${path}.${name} is unknown`);
			checkSame(came[name], read[name], `${path}.${name}`);
		}
	} else if (came !== read && !(typeof came === "number" && Math.abs(came - read) < 1e-9)) {
		throw new Error(`${path}: ${JSON.stringify(came)} became ${JSON.stringify(read)}`);
	}
}

function decode(path, body) {
	const type = types[path];
	if (!type) throw new Error(`no such path: ${path}`);
	const came = JSON.parse(body);
	const bytes = type.encode(type.fromObject(mapIds(came, toBytes))).finish();
	const read = type.toObject(type.decode(bytes), { longs: String, enums: Number, defaults: true, arrays: true, oneofs: false });
	checkSame(came, mapIds(read, (_, id) => Buffer.from(id).toString("hex")), "");
	return came;
}

const server = http.createServer((request, response) => {
	const pieces = [];
	request.on("data", (piece) => pieces.push(piece));
	request.on("end", () => {
		let seen;
		try {
			if (request.method !== "POST" || request.headers["content-type"] !== "application/json") throw new Error("no POST of JSON");
			seen = { path: request.url, headers: request.headers, export: decode(request.url, Buffer.concat(pieces).toString()) };
			response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
		} catch (mistake) {
			seen = { path: request.url, mistake: String(mistake) };
			response.writeHead(400).end(String(mistake));
		}
		process.stdout.write(JSON.stringify(seen) + "\n");
	});
});
server.listen(0, "127.0.0.1", () => process.stdout.write(JSON.stringify({ port: server.address().port }) + "\n"));
process.stdin.resume().on("end", () => process.exit(0)); // ends with the test
