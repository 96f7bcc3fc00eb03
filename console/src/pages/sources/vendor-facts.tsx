import type { VendorDescription } from '../../../../src/admin/sources.ts'
import { Facts } from '../../components/facts.tsx'
import { toCount, toDay } from '../../format.ts'

/** Where a vendor is described, and what was proved of it with an account. */
export function VendorFacts({ vendor }: { vendor: VendorDescription | undefined }) {
  if (!vendor) return null
  return (
    <Facts
      facts={[
        ['Described by', <Origin key="origin" vendor={vendor} />],
        ...(vendor.documentation_url === null
          ? []
          : [['Written from', <Documents key="documents" vendor={vendor} />] as const]),
        ...vendor.proofs.map(
          (proof) =>
            [
              `Proved for ${OPERATIONS[proof.operation]}`,
              <ProofText key={proof.operation} name={vendor.name} proof={proof} />,
            ] as const,
        ),
      ]}
    />
  )
}

function Origin({ vendor: { origin, path } }: { vendor: VendorDescription }) {
  if (origin === 'code') return <>code of Tabbat, not a file</>
  if (origin === 'built_in') return <>a file that comes with Tabbat</>
  return (
    <>
      your file <code class="breaks">{path}</code>
    </>
  )
}

function Documents({ vendor }: { vendor: VendorDescription }) {
  return (
    <>
      <a href={vendor.documentation_url ?? ''} target="_blank" rel="noopener noreferrer">
        the documents of {vendor.title}
      </a>
      , read on {toDay(vendor.documentation_read ?? '')}
    </>
  )
}

type Proof = VendorDescription['proofs'][number]

const OPERATIONS: Readonly<Record<Proof['operation'], string>> = {
  nin: 'NIN',
  virtual_nin: 'virtual NIN',
  bvn: 'BVN',
}

function ProofText({ name, proof }: { name: string; proof: Proof }) {
  const { last } = proof
  if (!last)
    return (
      <>
        not proved yet.{' '}
        <span class="dim">
          Run{' '}
          <code class="breaks">
            tabbat vendors certify {name} --operation {proof.operation}
          </code>
        </span>
      </>
    )
  const author = `by ${last.by} on ${toDay(last.at)}, at ${last.host}`
  if (last.is_of_earlier_file) return <>not proved yet. An earlier file was proved {author}</>
  const rules = proof.proved_rules.length + proof.other_rules.length
  return (
    <>
      {toCount(proof.proved_rules.length)} of {toCount(rules)} rules and {toCount(proof.proved_fields)} of{' '}
      {toCount(proof.fields)} fields, {author}
      {proof.other_rules.length > 0 && (
        <span class="dim">. Rules not proved yet: {proof.other_rules.join(', ')}</span>
      )}
    </>
  )
}
