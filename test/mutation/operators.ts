/** A node of the syntax tree (ESTree with TypeScript). */
export type Node = {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [name: string]: unknown
}

export type Change = {
  readonly operator: string
  readonly start: number
  readonly end: number
  readonly replacement: string
}

type Operator = (node: Node, parents: readonly Node[], text: string) => Omit<Change, 'operator'>[]

/** What is changed in a node. Several operators may change the same node. */
export function changesOf(node: Node, parents: readonly Node[], text: string): Change[] {
  return Object.entries(OPERATORS).flatMap(([operator, change]) =>
    change(node, parents, text).map((found) => ({ operator, ...found })),
  )
}

const BOUNDARIES: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const EQUALITIES: Readonly<Record<string, string>> = { '===': '!==', '!==': '===', '==': '!=', '!=': '==' }
const ARITHMETIC: Readonly<Record<string, string>> = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*' }
const ASSIGNMENTS: Readonly<Record<string, string>> = { '+=': '-=', '-=': '+=', '*=': '/=' }
const METHODS = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
])
/** A call of these methods is replaced with what they are called on. */
const LEFT_OUT = /^(?:filter|sort|toSorted|reverse|toReversed|slice|trim|toLowerCase|toUpperCase|subarray)$/
const SQL = /\b(?:SELECT|INSERT|UPDATE|DELETE|WHERE|VALUES|CASE|COALESCE)\b|\$\d/
/** Words of SQL, and what they are replaced with. */
export const SQL_WORDS: readonly (readonly [RegExp, string])[] = [
  [/<=/g, '<'],
  [/>=/g, '>'],
  [/(?<=\s)<(?=\s)/g, '<='],
  [/(?<=\s)>(?=\s)/g, '>='],
  [/<>/g, '='],
  // In a condition; `SET a = $1` is none.
  [/(?<=\b(?:WHERE|AND|OR|ON|WHEN)\b[^=<>]{1,60}\s)=(?=\s)/g, '<>'],
  [/\bAND\b/g, 'OR'],
  [/\bOR\b(?! (?:IGNORE|REPLACE))/g, 'AND'],
  [/(?<=\s)\+(?=\s)/g, '-'],
  [/(?<=\s)-(?=\s)/g, '+'],
  [/\bIS NULL\b/g, 'IS NOT NULL'],
  [/\bIS NOT NULL\b/g, 'IS NULL'],
  [/\bNOT EXISTS\b/g, 'EXISTS'],
  [/\b(?:min|least)\(/gi, 'max('],
  [/\b(?:max|greatest)\(/gi, 'min('],
  [/\bDESC\b/g, 'ASC'],
]

const OPERATORS: Readonly<Record<string, Operator>> = {
  /** A condition that always or never holds. A loop without an end tells nothing. */
  condition: (node) => {
    if (node.type !== 'IfStatement' && node.type !== 'ConditionalExpression') return []
    return ['true', 'false'].map((word) => replace(node.test as Node, word))
  },
  boundary: binary(BOUNDARIES),
  equality: (node, parents, text) => (isTest(node, parents) ? [] : binary(EQUALITIES)(node, parents, text)),
  arithmetic: (node, parents, text) => {
    if (node.type === 'AssignmentExpression' && !isText(node.right as Node))
      return swapped(node, ASSIGNMENTS, text)
    if (node.type === 'UpdateExpression')
      return [
        replace(
          node,
          text.slice(node.start, node.end).replace(/\+\+|--/, (sign) => (sign === '++' ? '--' : '++')),
        ),
      ]
    return isText(node.left as Node) || isText(node.right as Node)
      ? []
      : binary(ARITHMETIC)(node, parents, text)
  },
  logical: (node, _parents, text) => {
    if (node.type !== 'LogicalExpression') return []
    if (node.operator === '??')
      return [take(node, node.left as Node, text), take(node, node.right as Node, text)]
    // In parentheses: the new operator may bind less than its surroundings, and its sides less than it.
    const [left, right] = [node.left, node.right].map(
      (side) => take(side as Node, side as Node, text).replacement,
    )
    return [replace(node, `(${left} ${node.operator === '&&' ? '||' : '&&'} ${right})`)]
  },
  negation: (node, parents, text) =>
    node.type === 'UnaryExpression' && node.operator === '!' && !isTest(node, parents)
      ? [take(node, node.argument as Node, text)]
      : [],
  boolean: (node, parents) =>
    node.type === 'Literal' && typeof node.value === 'boolean' && !isTest(node, parents)
      ? [replace(node, String(!node.value))]
      : [],
  number: (node) => {
    if (node.type !== 'Literal' || !/^(?:number|bigint)$/.test(typeof node.value)) return []
    if (typeof node.value === 'bigint') return [replace(node, `${node.value + 1n}n`)]
    const value = Number(node.value)
    // One more shows a wrong limit; one more of a duration or a size shows nothing.
    return [replace(node, String(Number.isInteger(value) && value < 100 ? value + 1 : value * 2))]
  },
  string: (node, parents) => {
    if (node.type !== 'Literal' || typeof node.value !== 'string' || SQL.test(node.value)) return []
    // A comparison is changed by other operators.
    if (/^(?:BinaryExpression|SwitchCase|MemberExpression)$/.test(parents.at(-1)?.type ?? '')) return []
    return [replace(node, node.value === '' ? "'changed'" : "''")]
  },
  statement: (node) => {
    if (node.type !== 'ExpressionStatement' || node.directive) return []
    const inner = node.expression as Node
    const run = (inner.type === 'AwaitExpression' ? inner.argument : inner) as Node
    return /^(?:Call|Chain|Assignment|Update|New)Expression$/.test(run.type) ? [replace(node, 'void 0;')] : []
  },
  block: (node, parents) => {
    if (node.type !== 'BlockStatement' || (node.body as Node[]).length < 2) return []
    return /^(?:If|For|ForOf|Try|While)/.test(parents.at(-1)?.type ?? '') ? [replace(node, '{}')] : []
  },
  /** Nothing is returned. */
  return: (node) => {
    if (node.type !== 'ReturnStatement' || !node.argument) return []
    // Other operators change literals and conditions.
    const argument = node.argument as Node
    return /^(?:Call|Await|New|Member|Array)Expression$|^Identifier$/.test(argument.type) &&
      !isUndefined(argument)
      ? [replace(argument, 'undefined')]
      : []
  },
  method: (node, _parents, text) => {
    const callee = node.callee as Node | undefined
    if (node.type !== 'CallExpression' || callee?.type !== 'MemberExpression' || callee.computed) return []
    const property = callee.property as Node & { name: string }
    const other = METHODS.get(property.name)
    if (other !== undefined) return [replace(property, other)]
    return LEFT_OUT.test(property.name) ? [take(node, callee.object as Node, text)] : []
  },
  sql: (node, _parents, text) => {
    const isString = node.type === 'Literal' && typeof node.value === 'string'
    if (node.type !== 'TemplateLiteral' && !isString) return []
    const all = text.slice(node.start, node.end)
    if (!SQL.test(all)) return []
    const parts = isString ? [node] : (node.quasis as Node[])
    return parts.flatMap((part) => sqlChanges(part, text))
  },
}

function sqlChanges(part: Node, text: string): Omit<Change, 'operator'>[] {
  const sql = text.slice(part.start, part.end)
  return SQL_WORDS.flatMap(([word, other]) =>
    [...sql.matchAll(word)].map((match) => {
      const start = part.start + match.index
      return { start, end: start + match[0].length, replacement: other }
    }),
  )
}

function binary(others: Readonly<Record<string, string>>): Operator {
  return (node, _parents, text) => (node.type === 'BinaryExpression' ? swapped(node, others, text) : [])
}

/** The operator between two sides is another one. */
function swapped(
  node: Node,
  others: Readonly<Record<string, string>>,
  text: string,
): Omit<Change, 'operator'>[] {
  const other = others[node.operator as string]
  if (other === undefined) return []
  const left = node.left as Node
  const right = node.right as Node
  const between = text.slice(left.end, right.start).replace(node.operator as string, other)
  return [replace(node, text.slice(left.start, left.end) + between + text.slice(right.start, right.end))]
}

const replace = (node: Node, replacement: string) => ({ start: node.start, end: node.end, replacement })

const take = (node: Node, part: Node, text: string) => replace(node, `(${text.slice(part.start, part.end)})`)

const isTest = (node: Node, parents: readonly Node[]) => {
  const parent = parents.at(-1)
  return (parent?.type === 'IfStatement' || parent?.type === 'ConditionalExpression') && parent.test === node
}

const isUndefined = (node: Node) => node.type === 'Identifier' && node.name === 'undefined'

const isText = (node: Node | undefined) =>
  node?.type === 'TemplateLiteral' || (node?.type === 'Literal' && typeof node.value === 'string')
