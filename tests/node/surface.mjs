// SPDX-License-Identifier: Apache-2.0
// What a client's declarations offer and the programs that test it do not use: node surface.mjs surface/CLIENT.json, which names the
// package, the programs, what is not used, and the options that are passed as a whole, with reasons. One line of JSON for each class, function, method and option of a
// parameter: {"name":…,"used":…}. See tests/system/test_surface.py.
//
// TypeScript itself says what a name in a program means: `list` of a volume is not that of files. An option is used where an object
// that is passed names it. What a program gets in ways that TypeScript cannot follow is told to it by comments (@type, @param).
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createRequire } from 'node:module'

const ts = createRequire(import.meta.url)('typescript')
const { package: name, programs, whole = {} } = JSON.parse(readFileSync(process.argv[2]))
const options = { allowJs: true, checkJs: true, noEmit: true, skipLibCheck: true, strict: true, types: [], module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ESNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext }
const here = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname)
const { resolvedModule } = ts.resolveModuleName(name, join(here, 'surface.mjs'), options, ts.sys, undefined, undefined, ts.ModuleKind.ESNext)
const folder = dirname(resolvedModule.resolvedFileName)
const program = ts.createProgram([resolvedModule.resolvedFileName, ...programs.map((each) => resolve(here, each))], options)
const checker = program.getTypeChecker()
const isOurs = (declaration) => declaration.getSourceFile().fileName.startsWith(`${folder}/`)
const isPublic = (declaration) => !(ts.getCombinedModifierFlags(declaration) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected))
  && !ts.getJSDocTags(declaration).some((tag) => ['internal', 'hidden'].includes(tag.tagName.text)) && !declaration.name?.getText().startsWith('_')

// ---- what is offered ----

/** Declaration → its name. */
const offered = new Map()
const visited = new Set()

/** The name of what a declaration is part of: of a class, a type, or of another option. */
function ownerName(declaration) {
  for (let node = declaration.parent; node; node = node.parent) {
    if (ts.isPropertySignature(node)) return `${ownerName(node)}.${node.name.getText()}`
    if (node.name && !ts.isParameter(node)) return node.name.getText()
  }
  return ''
}

function offer(declaration) {
  if (!isOurs(declaration) || !isPublic(declaration)) return false
  offered.set(declaration, [ownerName(declaration), declaration.name.getText()].filter(Boolean).join('.'))
  return true
}

/** The properties of what a parameter may be. */
function offerOptions(type) {
  if (visited.has(type)) return
  visited.add(type)
  if (type.isUnionOrIntersection()) for (const part of type.types) offerOptions(part)
  if (type.isClass() || type.getCallSignatures().length) return
  for (const argument of checker.getTypeArguments(type)) offerOptions(argument)
  for (const property of type.isUnion() ? [] : type.getProperties()) {
    for (const declaration of property.declarations ?? []) {
      if ((ts.isPropertySignature(declaration) || ts.isMethodSignature(declaration)) && offer(declaration) && !(offered.get(declaration) in whole)) {
        offerOptions(checker.getTypeOfSymbol(property))
      }
    }
  }
  const index = type.getStringIndexType()
  if (index) offerOptions(index)
}

const offerParameters = (signatures) => {
  for (const signature of signatures) for (const parameter of signature.parameters) offerOptions(checker.getTypeOfSymbol(parameter))
}

/** What a class shows of a member: often an interface, as which a program gets it, says the same. */
function shown(member) {
  for (const declaration of member.declarations ?? []) {
    for (const type of (declaration.parent.heritageClauses ?? []).flatMap((clause) => clause.token === ts.SyntaxKind.ImplementsKeyword ? clause.types : [])) {
      const same = checker.getTypeAtLocation(type).getProperty(member.name)
      if (same && ts.isClassElement(declaration)) return same
    }
  }
  return member
}

function offerClass(instance, constructors) {
  if (visited.has(instance)) return
  visited.add(instance)
  offerParameters((constructors?.getConstructSignatures() ?? []).filter(({ declaration }) => declaration && isPublic(declaration)))
  for (const member of [...instance.getProperties(), ...constructors?.getProperties() ?? []].map(shown)) {
    for (const declaration of member.declarations ?? []) {
      const type = checker.getTypeOfSymbol(member)
      const isCallable = type.getCallSignatures().length > 0
      if (isCallable && (ts.isClassElement(declaration) || ts.isTypeElement(declaration)) && offer(declaration)) offerParameters(type.getCallSignatures())
      // Such as `sandbox.files`, whose class is told as a type alone.
      if (!isCallable && isOurs(declaration) && isPublic(declaration) && type.isClass()) offerClass(type, undefined)
    }
  }
}

for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(resolvedModule.resolvedFileName)))) {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
  for (const declaration of symbol.declarations ?? []) {
    if (!isOurs(declaration)) continue
    if (ts.isClassDeclaration(declaration)) {
      const isMade = !exported.declarations?.some((each) => ts.isExportSpecifier(each) && each.isTypeOnly)
      if (isMade) offer(declaration)
      offerClass(checker.getDeclaredTypeOfSymbol(symbol), isMade ? checker.getTypeOfSymbol(symbol) : undefined)
    }
    if (ts.isFunctionDeclaration(declaration)) {
      offer(declaration)
      offerParameters(checker.getTypeOfSymbol(symbol).getCallSignatures())
    }
  }
}

// ---- what is used ----

const used = new Set()
const use = (symbol) => {
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol)
  for (const declaration of symbol?.declarations ?? []) used.add(declaration)
}

/** What was taken out of an object by its name: a local symbol → that of the object's property. */
const taken = new Map()

function visit(node) {
  if (ts.isPropertyAccessExpression(node)) use(checker.getSymbolAtLocation(node.name))
  else if (ts.isIdentifier(node) && !ts.isImportSpecifier(node.parent) && !ts.isBindingElement(node.parent)) {
    const symbol = checker.getSymbolAtLocation(node)
    use(symbol)
    use(taken.get(symbol))
  }
  if (ts.isObjectLiteralElementLike(node) && node.name) {
    const type = checker.getContextualType(node.parent)
    for (const part of type?.isUnion() ? type.types : type ? [type] : []) use(part.getProperty(node.name.getText().replace(/^['"]|['"]$/g, '')))
  }
  if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
    taken.set(checker.getSymbolAtLocation(node.name), checker.getTypeAtLocation(node.parent).getProperty((node.propertyName ?? node.name).getText()))
  }
  // Errors are asked for by their names, too.
  if (ts.isStringLiteral(node)) for (const [declaration, known] of offered) if (known === node.text) used.add(declaration)
  ts.forEachChild(node, visit)
}
for (const each of programs) visit(program.getSourceFile(resolve(here, each)))

/** Overloads are one. */
const told = new Map()
for (const [declaration, known] of offered) told.set(known, told.get(known) || used.has(declaration))
for (const [known, isUsed] of told) console.log(JSON.stringify({ name: known, used: isUsed }))
