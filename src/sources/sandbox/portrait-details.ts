import type { Gender } from './names.ts'
import { GOLD, HAIR } from './portrait-palette.ts'
import { dots, line, mirrored, oval, ring, shape } from './portrait-shapes.ts'

const glasses =
  mirrored(ring(134, 165, 22, '#2b2422', 3.5) + line('M112 161 L98 156', '#2b2422', 3.5)) +
  line('M156 163 C158 160 162 160 164 163', '#2b2422', 3.5)

const studs = mirrored(oval(96, 188, 4.5, 4.5, GOLD))
const hoops = mirrored(ring(95, 200, 13, GOLD, 3.5))
const beads =
  dots('M133 262 C136 300 184 300 187 262', '#c2452d', 10, 12) +
  dots('M122 284 C132 322 188 322 198 284', GOLD, 8, 12)

const beard = shape(
  'M99 174 C100 222 126 256 160 256 C194 256 220 222 221 174 C214 196 204 206 190 208 C176 204 144 204 130 208 C116 206 106 196 99 174 Z',
  HAIR,
)
const moustache = shape(
  'M132 214 C140 203 154 203 160 207 C166 203 180 203 188 214 C176 211 144 211 132 214 Z',
  HAIR,
)

/** `under` lies below the features of the face, so that a mouth shows in a beard; `over` lies on top of them. */
export const DETAILS: Record<Gender, readonly { readonly under: string; readonly over: string }[]> = {
  m: [
    { under: '', over: '' },
    { under: beard, over: '' },
    { under: '', over: glasses },
    { under: '', over: moustache },
  ],
  f: [
    { under: '', over: studs },
    { under: '', over: studs + glasses },
    { under: '', over: hoops },
    { under: '', over: studs + beads },
  ],
}
