import { useState } from 'preact/hooks'
import { type Call, toCurl, toPython, toTypeScript } from '../examples.ts'
import { tryItTexts as texts } from '../texts/en/try-it.ts'
import { fill } from '../texts/fill.ts'
import { CodeBlock } from './copy.tsx'
import { Segments } from './field.tsx'

const LANGUAGES = [
  { value: 'curl', text: texts.curl },
  { value: 'typescript', text: texts.typescript },
  { value: 'python', text: texts.python },
] as const
type Language = (typeof LANGUAGES)[number]['value']

const FORMATTERS: Readonly<Record<Language, (call: Call) => string>> = {
  curl: toCurl,
  typescript: toTypeScript,
  python: toPython,
}

export function TryExamples(call: Call) {
  const [language, setLanguage] = useState<Language>('curl')
  return (
    <>
      <Segments legend={texts.language} value={language} options={LANGUAGES} onValue={setLanguage} />
      {call.publicKey === undefined && (
        <p class="dim">{fill(texts.exampleKey, { code: <code>TABBAT_KEY</code> })}</p>
      )}
      <CodeBlock text={FORMATTERS[language](call)} what={texts.toCallIn(language)} />
    </>
  )
}
