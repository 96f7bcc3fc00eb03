import type { ComponentChildren } from 'preact'
import { toGuide } from '../guide.ts'
import { LinkedText } from './object-page.tsx'

type GuideLinkProps = {
  /** Of `toGuide`. */
  readonly to: string
  readonly children: ComponentChildren
}

/** A page of the guide. It opens beside the console, so that a form is not lost. */
export const GuideLink = ({ to, children }: GuideLinkProps) => (
  <a href={to} target="_blank" rel="noopener">
    {children}
  </a>
)

const PAGE = /(docs\/[a-z-]+\.md(?:#[a-z-]+)?)/

/** A text of the server in which ids are links, and `docs/keys.md` is one to that page of the guide: an executable comes without docs/. */
export function GuideText({ text }: { readonly text: string }) {
  return (
    <>
      {text.split(PAGE).map((part, index) => {
        const [, page, heading] = /^docs\/(.+)\.md(?:#(.+))?$/.exec(part) ?? []
        return page === undefined ? (
          <LinkedText key={index} text={part} />
        ) : (
          <GuideLink key={index} to={toGuide(page, heading)}>
            {part}
          </GuideLink>
        )
      })}
    </>
  )
}
