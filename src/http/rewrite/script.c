/* SPDX-License-Identifier: Apache-2.0 */
#include "http/rewrite/rewrite.h"

/* Redirects requests of scripts from the root to the prefix. */
static const char script_begin[] = "(function(){var p=";
static const char script_end[] =
        ";function f(u){var r;try{r=new URL(u,document.baseURI)}catch(e){return u}"
        "if(r.host!==location.host||!/^(https?|wss?):$/.test(r.protocol)||"
        "(r.pathname+'/').indexOf(p+'/')===0)return u;r.pathname=p+r.pathname;return r.href}"
        "var F=window.fetch;window.fetch=function(i,o){if(i instanceof Request){"
        "var n=f(i.url);if(n!==i.url)i=new Request(n,i)}else i=f(i);return F.call(this,i,o)};"
        "var O=XMLHttpRequest.prototype.open;XMLHttpRequest.prototype.open=function(){"
        "arguments[1]=f(arguments[1]);return O.apply(this,arguments)};"
        "['WebSocket','EventSource','Worker','SharedWorker'].forEach(function(n){var C=window[n];"
        "if(C)window[n]=new Proxy(C,{construct:function(t,a){a[0]=f(a[0]);"
        "return Reflect.construct(t,a)}})});"
        "['pushState','replaceState'].forEach(function(n){var H=history[n];"
        "history[n]=function(s,t,u){return H.call(history,s,t,u==null?u:f(u))}});"
        "[['Script','src'],['Image','src'],['Link','href'],['Anchor','href'],['IFrame','src'],"
        "['Media','src'],['Source','src'],['Track','src'],['Embed','src'],['Object','data'],"
        "['Form','action']].forEach(function(x){var P=window['HTML'+x[0]+'Element'].prototype,"
        "d=Object.getOwnPropertyDescriptor(P,x[1]);if(d&&d.set)Object.defineProperty(P,x[1],"
        "{configurable:true,enumerable:d.enumerable,get:d.get,"
        "set:function(u){d.set.call(this,f(u))}})});"
        "var A={__proto__:null,src:/./,href:/./,action:/^form$/,formaction:/^(button|input)$/,"
        "poster:/^video$/,data:/^object$/},S=Element.prototype.setAttribute;"
        "Element.prototype.setAttribute=function(n,v){var e=A[String(n).toLowerCase()];"
        "if(e&&arguments.length>1&&e.test(this.localName))arguments[1]=f(v);"
        "return S.apply(this,arguments)};"
        /* A page without an origin has no access to these; the replacements last as long as the
         * page. */
        "try{document.cookie}catch(e){var c=new Map();Object.defineProperty(document,'cookie',{"
        "configurable:true,get:function(){var o=[];c.forEach(function(x,k){"
        "if(x[1]<=Date.now())c.delete(k);else o.push(k?k+'='+x[0]:x[0])});return o.join('; ')},"
        "set:function(t){var a=String(t).split(';'),i=a[0].indexOf('='),"
        "k=a[0].slice(0,Math.max(i,0)).trim(),v=a[0].slice(i+1).trim(),w=Infinity,m;"
        "if(!k&&!v)return;a.slice(1).forEach(function(x){x=x.split('=');"
        "var n=x.shift().trim().toLowerCase(),y=x.join('=').trim(),d=Date.parse(y);"
        "if(n==='max-age'&&/^-?\\d+$/.test(y))m=Date.now()+y*1000;"
        "if(n==='expires'&&d===d)w=d});c.set(k,[v,m===undefined?w:m])}})}"
        /* As in a real storage object, a key may have the name of a method. */
        "function M(){var s=new Map(),h={__proto__:Storage.prototype,"
        "getItem:function(k){k=String(k);return s.has(k)?s.get(k):null},"
        "setItem:function(k,v){s.set(String(k),String(v))},"
        "removeItem:function(k){s.delete(String(k))},clear:function(){s.clear()},"
        "key:function(i){var k=Array.from(s.keys())[i>>>0];return k===undefined?null:k},"
        "get length(){return s.size}};return new Proxy(Object.create(h),{"
        "get:function(t,k){return k in h?h[k]:s.get(k)},"
        "set:function(t,k,v){s.set(String(k),String(v));return true},"
        "has:function(t,k){return k in h||s.has(k)},"
        "deleteProperty:function(t,k){s.delete(k);return true},"
        "ownKeys:function(){return Array.from(s.keys())},"
        "getOwnPropertyDescriptor:function(t,k){return s.has(k)?{value:s.get(k),writable:true,"
        "enumerable:true,configurable:true}:undefined}})}"
        "['localStorage','sessionStorage'].forEach(function(n){try{window[n]}catch(e){"
        "Object.defineProperty(window,n,{configurable:true,value:M()})}});"
        "var B=navigator.sendBeacon;if(B)navigator.sendBeacon=function(u,d){"
        "return B.call(navigator,f(u),d)}})()";

/* Quotes a path of the server for a script; its alphabet needs no escapes. */
static void add_quoted(struct buf *out, struct span path, const char *end)
{
	buf_add_byte(out, '"');
	for (size_t i = 0; i < path.size; i++)
		if (!strchr("\"\\<>&'", path.data[i]))
			buf_add_byte(out, path.data[i]);
	buf_add_text(out, end);
	buf_add_byte(out, '"');
}

void rewrite_add_script(struct buf *out, struct span prefix)
{
	buf_add_text(out, script_begin);
	add_quoted(out, prefix, "");
	buf_add_text(out, script_end);
}

void rewrite_add_imports(struct buf *out, struct span prefix)
{
	buf_add_text(out, "{\"imports\":{\"/\":");
	add_quoted(out, prefix, "/");
	buf_add_byte(out, ',');
	add_quoted(out, prefix, "/");
	buf_add_byte(out, ':');
	add_quoted(out, prefix, "/");
	buf_add_text(out, "}}");
}
