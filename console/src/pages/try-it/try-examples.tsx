import { useState } from 'preact/hooks'
import { CodeBlock } from '../../components/copy.tsx'
import { Segments } from '../../components/field.tsx'
import { type Call, toCurl, toPython, toTypeScript } from './examples.ts'

const LANGUAGES = [
  { value: 'curl', text: 'curl' },
  { value: 'typescript', text: 'TypeScript' },
  { value: 'python', text: 'Python' },
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
      <Segments legend="Language" value={language} options={LANGUAGES} onValue={setLanguage} />
      {call.publicKey === undefined && (
        <p class="dim">
          The example reads the key from <code>TABBAT_KEY</code>. The key you entered is not shown.
        </p>
      )}
      <CodeBlock text={FORMATTERS[language](call)} what={`the call in ${language}`} />
    </>
  )
}
