import type { WholeLog } from '../audit/archive/whole-log.ts'

/** What a report about a person does not contain, because archives were not searched. */
export const toArchiveLimits = ({ missing, problems, archived }: WholeLog): string[] => [
  ...(missing.length === 0
    ? []
    : [
        `${missing.length} of the archives of the audit log were not searched: what is recorded in them about this number is not in this report. Put them into the folder of TABBAT_AUDIT_ARCHIVE_DIR.`,
      ]),
  ...(archived.isCut()
    ? [
        'The archives of the audit log were not searched completely: it takes too long here. Make the report with: tabbat person report',
      ]
    : []),
  ...new Set(problems),
]
