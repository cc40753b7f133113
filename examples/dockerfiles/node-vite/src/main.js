import { greet } from "./greet.js";
import "./style.css";

const name = new URLSearchParams(location.search).get("name") ?? "world";
document.querySelector("#greeting").textContent = greet(import.meta.env.VITE_GREETING, name);
