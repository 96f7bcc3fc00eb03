import { defineTexts } from '../language.ts'

export const searchTexts = defineTexts('search', {
  search: 'Search',
  toOpen: 'Search (press /)',
  title: 'Search',
  label: 'A page, key, request id or reference',
  help: 'What you type stays in the browser. Enter opens the first result.',
  results: 'Results',
  none: 'Nothing was found. References begin with ver_; keys are found by name or id.',
  page: 'page',
  key: 'key',
  verification: 'timeline of a verification',
  request: 'request',
  person: 'Search for a person',
  personNote: 'a number is entered on the audit page, so that it is in no address',
  shortcuts: 'Shortcuts',
  toShortcuts: 'Shortcuts (press ?)',
  escape: 'Esc',
  enter: 'Enter',
  keys: {
    search: 'search for a page, key, request or verification',
    help: 'show these shortcuts',
    close: 'close a dialog',
    first: 'in the search: open the first result',
  },
  close: 'Close',
})
