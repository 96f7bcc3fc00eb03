import { globSync, readFileSync } from 'node:fs'
import { parseSync } from 'vite'
import { describe, expect, it } from 'vitest'

/** A node of the syntax tree, with what this test reads of it. */
type SyntaxNode = { readonly type: string; readonly [name: string]: unknown }

/** Attributes with a text for people. */
const TEXT_ATTRIBUTES =
  /^(aria-label|title|label|legend|placeholder|help|alt|verb|what|otherwise|note|text|summary)$/
/** Properties with a text for people, such as the title of a column. */
const TEXT_PROPERTIES = /^(title|label|text|legend|placeholder|help|verb)$/
/** Attributes and properties whose value is for the browser. */
const TECHNICAL = /^(class|d|viewBox|rel|accept|font|autocomplete|path)$/
/** Elements for words of programs and keyboards, which are not translated. */
const LITERAL_ELEMENTS = new Set(['code', 'kbd'])
/** Calls whose argument is a selector, a media query or a message for developers. */
const TECHNICAL_CALLS = /^(querySelector|querySelectorAll|matches|closest|matchMedia|Error)$/

/** `Save`, `saved at once`, `(optional)`; not `apiKey`, `text/csv` or `/admin/keys`. */
const isWords = (text: string) =>
  /^\p{Lu}\p{Ll}+(?!\p{L})|\p{L}{2}[.,;:]? \p{L}{2}|^\(\p{L}+\)$/u.test(text.trim())
/** The shape of a value: `tbt_…`, `https://shop.example.com/webhooks`, `203.0.113.7, 10.0.0.0/8`. */
const isExample = (text: string) => /^(\S*(…|:\/\/|_)\S*|\/\S+)$/.test(text) || !/\p{L}/u.test(text)

/** The texts in a source file that a person sees. */
function findTexts(file: string, source: string): string[] {
  const { program, errors } = parseSync(file, source)
  expect(errors).toEqual([])
  return findInNode(program as unknown as SyntaxNode, false)
}

function findInNode(node: SyntaxNode, isText: boolean): string[] {
  if (isSkipped(node)) return []
  const text = toText(node)
  if (text === undefined)
    return Object.entries(node).flatMap(([part, value]) =>
      (node.type === 'Property' && part === 'key' ? [] : [value].flat())
        .filter(isNode)
        .flatMap((child) => findInNode(child, toIsText(node, part, isText))),
    )
  const isSeen = isText || node.type === 'JSXText' ? !isExample(text) : isWords(text)
  return isSeen ? [text.trim()] : []
}

const isNode = (value: unknown): value is SyntaxNode => typeof (value as SyntaxNode | null)?.type === 'string'

function toText(node: SyntaxNode): string | undefined {
  if (node.type === 'JSXText' || (node.type === 'Literal' && typeof node.value === 'string'))
    return node.value as string
  return node.type === 'TemplateElement' ? (node.value as { cooked: string }).cooked : undefined
}

/** The value of an attribute is a text. What it compares or passes to a function need not be. */
function toIsText(node: SyntaxNode, part: string, isText: boolean): boolean {
  if (node.type === 'JSXAttribute') return TEXT_ATTRIBUTES.test(toName(node.name))
  if (node.type === 'Property') return TEXT_PROPERTIES.test(toName(node.key))
  if (node.type === 'ConditionalExpression') return isText && part !== 'test'
  return isText && /^(JSXExpressionContainer|LogicalExpression|TemplateLiteral)$/.test(node.type)
}

function isSkipped(node: SyntaxNode): boolean {
  const { type } = node
  if (/^TS(As|Satisfies|NonNull)/.test(type)) return false
  if (/^(TS|Import)/.test(type) || type === 'BinaryExpression') return true
  if (type === 'JSXAttribute') return TECHNICAL.test(toName(node.name))
  if (type === 'Property') return TECHNICAL.test(toName(node.key))
  if (type === 'JSXElement')
    return LITERAL_ELEMENTS.has(toName((node.openingElement as SyntaxNode).name)) && !hasExpression(node)
  if (type === 'CallExpression' || type === 'NewExpression') return TECHNICAL_CALLS.test(toName(node.callee))
  return false
}

const hasExpression = ({ children }: SyntaxNode) =>
  (children as SyntaxNode[]).some(({ type }) => type === 'JSXExpressionContainer')

/** `label`, `querySelector` of `form.querySelector`, and '' where there is no name. */
function toName(node: unknown): string {
  const { name, property, expression } = node as Record<string, unknown>
  if (typeof name === 'string') return name
  return property || expression ? toName(property ?? expression) : ''
}

describe('a text that a person sees', () => {
  // Program code in examples.ts is the same in every language.
  const files = globSync('console/src/**/*.{ts,tsx}').filter(
    (file) => !/\/texts\/|\/examples\.ts$/.test(file),
  )

  it('is in console/src/texts, and not in a component', () => {
    expect(files.length).toBeGreaterThan(100)
    const found = files.flatMap((file) =>
      findTexts(file, readFileSync(file, 'utf8')).map((text) => `${file}: ${text}`),
    )
    expect(found).toEqual([])
  })

  it.each([
    ['const a = <p>Save</p>', ['Save']],
    ['const a = <p>{isNew ? "Created at once" : texts.old}</p>', ['Created at once']],
    ['const a = <Field label="name" />', ['name']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a source text
    ['const a = <b aria-label={`Revoke ${name}`} />', ['Revoke']],
    ['const a = <When otherwise={isOpen ? "never" : texts.soon} />', ['never']],
    ['const columns = [{ title: "Last used" }, { title: "id" }]', ['Last used', 'id']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a source text
    ['const common = { label: `${name} (optional)` }', ['(optional)']],
    ['const a = <p><code>tabbat import</code></p>', []],
    ['const a = <code>{answer ?? "Loading…"}</code>', ['Loading…']],
    ['const a = <Field label={texts.key} placeholder="tbt_…" class="wide bar" />', []],
    ['const a = key === "Escape" && box.querySelector("input, select")', []],
    ['import { Save } from "Save"; type A = "Save"', []],
    ['throw new Error("Context is missing.")', []],
  ])('is found in: %s', (source, expected) => {
    expect(findTexts('component.tsx', source)).toEqual(expected)
  })
})
