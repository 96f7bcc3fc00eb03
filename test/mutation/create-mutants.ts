import { parseSync } from 'rolldown/utils'
import { type Change, changesOf, type Node } from './operators.ts'
import { findSqlChanges } from './sql-mutants.ts'

/** One change to one file of the product, which a test should notice. */
export type Mutant = {
  readonly file: string
  readonly operator: string
  readonly line: number
  readonly start: number
  readonly end: number
  readonly original: string
  readonly replacement: string
  /** Without line numbers, so that it names the same mutant after a change elsewhere in the file. */
  readonly key: string
  /** Where the innermost block begins that contains it; 0 for code that runs when the module is loaded. */
  readonly block: number
}

/** Where a block begins, and the code that notes that it was reached. */
type Probe = { readonly at: number; readonly end: number; readonly isExpression: boolean }

/** Texts for readers: of errors, of settings and of schemas. */
const READER_KEYS = new Set([
  'description',
  'summary',
  'title',
  'help',
  'message',
  'label',
  'hint',
  'example',
  'examples',
  'text',
])
/** A sentence, also where it has no name, such as the description of a setting. */
const SENTENCE = /^[A-Z].* .* .*\.$/
const MAX_KEY_TEXT = 90

/** Every mutant of a file, in the order of its text. */
export function createMutants(file: string, text: string): Mutant[] {
  const mutants: Mutant[] = []
  const seen = new Map<string, number>()
  const add = (change: Change, block: number, path: readonly string[]) => {
    const original = text.slice(change.start, change.end)
    if (original === change.replacement) return
    const label = [
      file,
      path.join('.') || 'module',
      change.operator,
      `${shorten(original)} → ${shorten(change.replacement)}`,
    ].join(' | ')
    const count = (seen.get(label) ?? 0) + 1
    seen.set(label, count)
    const line = text.slice(0, change.start).split('\n').length
    mutants.push({ file, ...change, original, line, key: count > 1 ? `${label} #${count}` : label, block })
  }
  if (isSql(file)) for (const { around, ...change } of findSqlChanges(text)) add(change, 0, [around])
  else
    walk(parse(file, text), { block: 0, path: [], parents: [] }, (node, { block, path, parents }) => {
      for (const change of changesOf(node, parents, text)) add(change, block, path)
    })
  return mutants.sort((one, other) => one.start - other.start)
}

export const applyTo = (
  text: string,
  { start, end, replacement }: Pick<Mutant, 'start' | 'end' | 'replacement'>,
) => text.slice(0, start) + replacement + text.slice(end)

/**
 * The file with code that appends the start of each block to the file named by TABBAT_MUTATION_HITS, when the block is first reached
 * in a thread, or in a test. A star marks what other threads and processes than that of the tests reach. Lines stay where they are.
 */
export function instrument(file: string, text: string): string {
  if (isSql(file)) return text
  const probes: Probe[] = []
  walk(parse(file, text), { block: 0, path: [], parents: [] }, (node, { parents }) => {
    if (node.type === 'BlockStatement')
      probes.push({ at: node.start + 1, end: node.end, isExpression: false })
    if (isArrowBody(node, parents.at(-1))) probes.push({ at: node.start, end: node.end, isExpression: true })
  })
  const edits = probes.flatMap(({ at, end, isExpression }) =>
    isExpression
      ? [
          { at, text: `(__hit(${at}),` },
          { at: end, text: ')' },
        ]
      : [{ at, text: `__hit(${at - 1});` }],
  )
  // From the end, so that earlier places stay valid. At one place the later edit is the inner one.
  edits.reverse().sort((one, other) => other.at - one.at)
  let changed = text
  for (const edit of edits) changed = changed.slice(0, edit.at) + edit.text + changed.slice(edit.at)
  return `${prelude(file)}__hit(0);${changed}`
}

/** The blocks that were noted are kept for each file in a set of numbers: some blocks are reached a million times. */
const prelude = (file: string) =>
  `var __to,__seen;function __hit(at){if(!__seen){__to=process.env.TABBAT_MUTATION_HITS;` +
  `(globalThis.__hits??=[]).push(__seen=new Set())}if(__seen.has(at))return;__seen.add(at);` +
  `if(__to)process.getBuiltinModule('node:fs').appendFileSync(__to,` +
  `(globalThis.__isTestThread?'':'* ')+${JSON.stringify(`${file} `)}+at+'\\n')}`

type Place = {
  readonly block: number
  readonly path: readonly string[]
  readonly parents: readonly Node[]
}

/** Visits what runs: no types, no imports, no texts for readers. */
function walk(node: Node, place: Place, visit: (node: Node, place: Place) => void): void {
  visit(node, place)
  const name = nameOf(node)
  const isBlock = node.type === 'BlockStatement' || isArrowBody(node, place.parents.at(-1))
  const inner: Place = {
    block: isBlock ? node.start : place.block,
    path: name === undefined ? place.path : [...place.path, name],
    parents: [...place.parents, node],
  }
  for (const child of childrenOf(node)) if (isRun(child, node)) walk(child, inner, visit)
}

function childrenOf(node: Node): Node[] {
  return Object.entries(node)
    .filter(([name]) => name !== 'typeAnnotation' && name !== 'typeArguments' && name !== 'returnType')
    .flatMap(([, value]) => (Array.isArray(value) ? value : [value]))
    .filter((value): value is Node => typeof value?.type === 'string')
}

function isRun(node: Node, parent: Node): boolean {
  if (/^(?:Import|ExportAll)/.test(node.type) && node.type !== 'ImportExpression') return false
  if (/^TS/.test(node.type)) return /^TS(?:As|Satisfies|NonNull)/.test(node.type)
  if (parent.type === 'Property' && parent.key === node) return false
  if (parent.type === 'Property' && READER_KEYS.has(nameOf(parent) ?? '')) return false
  if (node.type === 'Literal' && SENTENCE.test(String(node.value))) return false
  return !(
    node.type === 'NewExpression' && /Error$/.test((node.callee as Node & { name?: string }).name ?? '')
  )
}

function nameOf(node: Node): string | undefined {
  const named = (node.id ??
    (node.type === 'Property' || node.type === 'MethodDefinition' ? node.key : undefined)) as
    | { name?: string; value?: unknown }
    | undefined
  return named?.name ?? (typeof named?.value === 'string' ? named.value : undefined)
}

const isArrowBody = (node: Node, parent: Node | undefined) =>
  parent?.type === 'ArrowFunctionExpression' && parent.body === node && node.type !== 'BlockStatement'

/** No probe can be added to it: see CALLERS. */
const isSql = (file: string) => file.endsWith('.sql')

const parse = (file: string, text: string) => parseSync(file, text, { lang: 'ts' }).program as unknown as Node

/** Whether a program comes of it: some changes of a text do not fit their surroundings. */
export const parses = (file: string, text: string) =>
  isSql(file) || parseSync(file, text, { lang: 'ts' }).errors.length === 0

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length <= MAX_KEY_TEXT ? line : `${line.slice(0, MAX_KEY_TEXT)}…`
}
