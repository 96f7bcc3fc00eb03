import { findPurposeProblem, toPurpose } from '../contract/free-text.ts'
import { InvalidSetting, type Setting, setting } from '../settings/setting.ts'

/** The settings of the rights of people. */
export const PEOPLE_SETTINGS = {
  purposes: setting(
    'TABBAT_PURPOSES',
    undefined,
    readPurposes,
    'Words that callers may send as X-Purpose, separated by commas, for example account-opening,loan. Another word gets 422; a request without the header is accepted. Unset: any word. See docs/people.md.',
  ),
  organisation: setting(
    'TABBAT_ORGANISATION',
    undefined,
    readOrganisation,
    'Name and address of your organisation, at the head of reports about people, with semicolons between the lines: Shop Ltd; Data protection; 12 Marina Road, Lagos. See docs/people.md.',
  ),
} satisfies Record<string, Setting<unknown>>

function readPurposes(text: string): string[] {
  const purposes = text.split(',').map(toPurpose)
  for (const purpose of purposes) {
    const problem = findPurposeProblem(purpose, undefined)
    if (problem) throw new InvalidSetting(`must be words separated by commas; each ${problem}`)
  }
  return [...new Set(purposes)]
}

const MAX_LINES = 6
const MAX_LINE_LENGTH = 100

function readOrganisation(text: string): string[] {
  const lines = text.split(';').map((line) => line.trim())
  if (lines.length > MAX_LINES || lines.some((line) => line === '' || line.length > MAX_LINE_LENGTH))
    throw new InvalidSetting(
      `must be 1 to ${MAX_LINES} lines of 1 to ${MAX_LINE_LENGTH} characters, with semicolons between them`,
    )
  return lines
}
