import { defineTexts } from '../language.ts'

export const tryItTexts = defineTexts('tryIt', {
  noOperations: 'There are no operations.',
  operation: 'Operation',
  response: 'Response',
  waiting: 'Waiting for the response',
  noResponseYet: 'The response appears here.',
  codeExamples: 'Code examples',
  scenarios: 'Sandbox scenarios',
  choose: 'Choose…',
  apiKey: 'API key',
  keyPlaceholder: 'The public sandbox key',
  keyHelp: 'If empty, the public sandbox key is used. A key that you enter stays in this page.',
  keyHelpNoSandbox:
    'This server does not accept the public sandbox key. Enter a test key. It stays in this page.',
  liveKey:
    'This is a live key. The call is about a real person, may be billed, and is written to the audit log.',
  viewerNote: 'Your role shows the forms only. Sending needs the role operator.',
  send: 'Send',
  card: 'Card',
  json: 'JSON',
  view: 'View',
  noBody: 'The response has no body.',
  code: 'Code {code}',
  emptyList: 'The list is empty.',
  items: 'Items',
  curl: 'curl',
  typescript: 'TypeScript',
  python: 'Python',
  language: 'Language',
  exampleKey: 'The example reads the key from {code}. The key you entered is not shown.',
})
