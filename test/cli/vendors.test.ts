import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { TABBAT, tabbat } from '../process/tabbat.ts'

const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-vendors-'))
const DOJAH = JSON.parse(readFileSync('vendors/dojah.json', 'utf8'))

/** A folder with one vendor file. */
function writeVendor(name: string, content: unknown, folder = newFolder()) {
  const file = join(folder, `${name}.json`)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return { folder, file }
}

describe('tabbat vendors list', () => {
  it('shows where each vendor is described, and which are in use', async () => {
    const { folder, file } = writeVendor('acme', { ...DOJAH, title: 'Acme' })
    writeVendor('dojah', { ...DOJAH, documentation: { ...DOJAH.documentation, read: '2026-12-24' } }, folder)
    const settings = { TABBAT_VENDORS_DIR: folder, TABBAT_NIN_SOURCES: 'registry,acme' }
    const { code, stdout } = await tabbat(settings, 'vendors', 'list')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^acme +Acme +nin, virtual_nin, bvn +\S+acme\.json +\d{4}-\d\d-\d\d +nin$/m)
    expect(stdout).toMatch(/^dojah +Dojah .*dojah\.json +2026-12-24 +-$/m)
    expect(stdout).toMatch(/^prembly .* built in /m)
    expect(stdout).toMatch(/^vtpass +VTpass +catalogue +code +- +-$/m)
    const rows = JSON.parse((await tabbat(settings, 'vendors', 'list', '--json')).stdout)
    expect(rows).toContainEqual({
      name: 'acme',
      title: 'Acme',
      looks_up: ['nin', 'virtual_nin', 'bvn'],
      origin: 'your file',
      path: file,
      documents_read: DOJAH.documentation.read,
      in_use_for: ['nin'],
    })
  })

  it('shows the others when one file is wrong, and ends with an error', async () => {
    const { folder } = writeVendor('acme', { title: 'Acme' })
    const { code, stdout, stderr } = await tabbat({ TABBAT_VENDORS_DIR: folder }, 'vendors', 'list')
    expect([code, stdout]).toEqual([1, expect.stringContaining('dojah')])
    expect(stderr).toContain('acme.json: the file needs the member rules.')
  })
})

describe('the folder of the operator', () => {
  it('may have a pipe, which is never waited for, and other things that are no file', async () => {
    const { folder } = writeVendor('broken', '{\n"name": Obi 12345678901}')
    execFileSync('mkfifo', [join(folder, 'pipe.json')])
    mkdirSync(join(folder, 'folder.json'))
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
    const request = { ...DOJAH.operations.nin.request, body: '@' }
    const operations = { ...DOJAH.operations, nin: { request } }
    writeVendor('deep', JSON.stringify({ ...DOJAH, operations }).replace('"@"', deep), folder)
    const { code, stderr } = await tabbat({ TABBAT_VENDORS_DIR: folder }, 'vendors', 'validate')
    expect(code).toBe(1)
    expect(stderr).toMatch(/pipe\.json: it is not a file\.\n/)
    expect(stderr).toMatch(/folder\.json: it is not a file\.\n/)
    expect(stderr).toMatch(/deep\.json: the file is nested deeper than 50 levels\.\n/)
    expect(stderr).toMatch(/broken\.json: it is not JSON.*\.\n/)
    expect(stderr).not.toMatch(/Obi|1234/)
  })

  it('may have a file that begins with a byte order mark', async () => {
    const { folder } = writeVendor('acme', `\ufeff${JSON.stringify(DOJAH)}`)
    expect((await tabbat({ TABBAT_VENDORS_DIR: folder }, 'vendors', 'validate')).code).toBe(0)
  })
})

describe('tabbat vendors show', () => {
  it('explains a file in plain words, and never shows a secret', async () => {
    const settings = { TABBAT_DOJAH_SECRET: 'very-secret', TABBAT_DOJAH_URL: 'https://sandbox.example.com' }
    const { code, stdout } = await tabbat(settings, 'vendors', 'show', 'dojah')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^TABBAT_DOJAH_SECRET +set +/m)
    expect(stdout).toMatch(/^TABBAT_DOJAH_URL +https:\/\/sandbox\.example\.com \(set\)/m)
    expect(stdout).toMatch(/^TABBAT_DOJAH_APP_ID +not set: required/m)
    expect(stdout).toContain('bvn: GET {bvn_path}?bvn={number}')
    expect(stdout).toContain('if the HTTP status is 200, and entity is there')
    expect(stdout).toMatch(/^personal_info\.last_name +surname, else last_name$/m)
    expect(stdout).not.toContain('very-secret')
  })

  it('explains every file that comes with the program', async () => {
    const rows = JSON.parse((await tabbat({}, 'vendors', 'list', '--json')).stdout)
    for (const { name, origin } of rows) {
      const { code, stdout } = await tabbat({}, 'vendors', 'show', name)
      expect([code, stdout.includes('Rules for ')]).toEqual([0, origin !== 'code'])
      expect(stdout).not.toMatch(/undefined|\[object/)
    }
  })

  it('prints the file for programs', async () => {
    const { stdout } = await tabbat({}, 'vendors', 'show', 'dojah', '--json')
    expect(JSON.parse(stdout)).toEqual(DOJAH)
    const code = await tabbat({}, 'vendors', 'show', 'vtpass', '--json')
    expect([code.code, code.stderr]).toEqual([1, expect.stringContaining('vtpass is code')])
  })

  it('refuses a name that is not known, and does not repeat it', async () => {
    const { code, stderr } = await tabbat({}, 'vendors', 'show', '12345678901')
    expect([code, stderr]).toEqual([1, expect.stringContaining('Choose one of')])
    expect(stderr).not.toContain('12345678901')
  })
})

describe('tabbat vendors validate', () => {
  it('prints everything that is wrong with a file: the place, and what was expected', async () => {
    const { file } = writeVendor('acme', {
      ...DOJAH,
      title: 1,
      operations: { nin: { request: { method: 'PUT', path: '/nin' } } },
    })
    const { code, stdout, stderr } = await tabbat({}, 'vendors', 'validate', file, 'vendors/dojah.json')
    expect([code, stdout]).toEqual([1, 'vendors/dojah.json: no problems.\n'])
    expect(stderr.split('\n')).toEqual([
      `error: ${file}: title must be string.`,
      `error: ${file}: operations.nin.request.method must be one of GET, POST.`,
      '',
    ])
    const { stdout: json } = await tabbat({}, 'vendors', 'validate', file, '--json')
    expect(JSON.parse(json)).toMatchObject([
      { file, valid: false, problems: [expect.any(String), expect.any(String)] },
    ])
  })

  it('checks the files of the folder', async () => {
    const { folder } = writeVendor('acme', DOJAH)
    const settings = { TABBAT_VENDORS_DIR: folder }
    expect((await tabbat(settings, 'vendors', 'validate')).code).toBe(0)
    writeVendor('relay', DOJAH, folder)
    writeVendor('broken', '{', folder)
    const { code, stderr } = await tabbat(settings, 'vendors', 'validate')
    expect(code).toBe(1)
    expect(stderr).toContain('relay.json: relay is part of the program')
    expect(stderr).toContain('broken.json: it is not JSON')
  })

  it('says what is missing without a file or a folder', async () => {
    const { code, stderr } = await tabbat({}, 'vendors', 'validate')
    expect([code, stderr]).toEqual([1, 'error: Name a file, or set TABBAT_VENDORS_DIR.\n'])
    const empty = await tabbat({ TABBAT_VENDORS_DIR: newFolder() }, 'vendors', 'validate')
    expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('There is no vendor file in')])
    const missing = await tabbat({}, 'vendors', 'validate', '/nowhere/acme.json')
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining('/nowhere/acme.json: there is no such file.'),
    ])
    const absent = await tabbat({ TABBAT_VENDORS_DIR: '/nowhere' }, 'vendors', 'validate')
    expect([absent.code, absent.stderr]).toEqual([
      1,
      expect.stringContaining('not a folder that can be read'),
    ])
  })
})

describe('tabbat vendors try', () => {
  const PERSON = {
    nin: '12345678901',
    first_name: 'ADA',
    surname: 'OBI',
    phone_number: '2348031234567',
    photo: 'x',
  }
  const save = (content: unknown) => {
    const path = join(newFolder(), 'saved.txt')
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }

  it('explains an answer without settings and without a vendor', async () => {
    const answer = save({ entity: PERSON })
    const { code, stdout } = await tabbat({}, 'vendors', 'try', 'vendors/dojah.json', '--answer', answer)
    expect(code).toBe(0)
    for (const line of [
      '1. no such person: does not hold\n   no: the HTTP status is 404 or 400',
      '2. record: holds',
      'There is a record.',
      'The number and the phone of the request: not given',
      'The caller gets the record.',
      'Not used: entity.photo',
    ])
      expect(stdout).toContain(line)
    expect(stdout).toMatch(/^personal_info\.last_name +OBI +entity\.surname$/m)
    expect(stdout).toContain('Personal data of the saved answer')
  })

  it('prints shapes instead of personal data', async () => {
    const answer = save({ entity: PERSON })
    const { stdout } = await tabbat({}, 'vendors', 'try', 'dojah', '--answer', answer, '--shapes')
    expect(stdout).toMatch(/^nin_number +99999999999 +entity\.nin$/m)
    for (const value of ['12345678901', '08031234567', 'OBI']) expect(stdout).not.toContain(value)
  })

  it.each([[], ['--json']])(
    'prints shapes of the names of members that the file does not name %s',
    async (...more) => {
      const links = { 'Chukwuemeka Okafor': 1, '12345678901': { spouse: 'x' }, 'a@b.example': 1 }
      const answer = save({ entity: { ...PERSON, photo_url: 'x', links } })
      const args = ['vendors', 'try', 'dojah', '--answer', answer, '--shapes', ...more]
      const { stdout } = await tabbat({}, ...args)
      expect(stdout).toMatch(/entity\.photo_url\b.*entity\.links\.99999999999\.spouse/)
      expect(stdout).not.toMatch(/Okafor|Chukw|1234567|example/)
    },
  )

  it('compares the answer with a number and a phone from a file', async () => {
    const answer = save({ entity: PERSON })
    const look = async (person: string) => {
      const file = save(person)
      const { code, stdout } = await tabbat(
        {},
        ...['vendors', 'try', 'dojah', '--answer', answer, '--number-file', file, '--json'],
      )
      const { problem, phone_matches } = JSON.parse(stdout)
      return [code, problem, phone_matches]
    }
    expect(await look('12345678901\n+2348031234567\n')).toEqual([0, null, true])
    expect(await look('12345678901\n08031234568')).toEqual([0, null, false])
    expect(await look('12345678902')).toEqual([1, 'wrong_person', null])
  })

  it('reads the number and the phone of --ask from standard input', async () => {
    const args = ['vendors', 'try', 'dojah', '--answer', save({ entity: PERSON }), '--ask', '--json']
    const child = spawn(TABBAT.file, args, { stdio: 'pipe' })
    child.stdin.end('12345678901\n\n08031234568\n')
    expect(JSON.parse(await text(child.stdout))).toMatchObject({ problem: null, phone_matches: false })
  })

  it('explains the answer to a BVN, also one that has no number', async () => {
    const { nin, phone_number, ...names } = PERSON
    const entity = { ...names, phone_number1: phone_number }
    const look = (record: object, phone: string) =>
      tabbat(
        ...([
          {},
          'vendors',
          'try',
          'dojah',
          '--operation',
          'bvn',
          '--answer',
          save({ entity: record }),
        ] as const),
        ...['--number-file', save(`${nin}\n${phone}`)],
      )
    const [right, other, numberless] = await Promise.all([
      look({ ...entity, bvn: nin }, '08031234567'),
      look({ ...entity, bvn: nin }, '08031234568'),
      look(entity, '08031234567'),
    ])
    expect(right.stdout).toContain('yes: the phone is that of the request\nThe caller gets the record.')
    expect(other.stdout).toContain('no: the phone is that of the request\nThe caller gets “not verified”.')
    expect(numberless.stdout).toContain('The record has no number where the file says that it is.')
    expect([right, other, numberless].map(({ code }) => code)).toEqual([0, 0, 1])
  })

  it('takes the status of an error with an answer that is no JSON', async () => {
    const args = ['vendors', 'try', 'dojah', '--answer', save('<html></html>'), '--status'] as const
    const { code, stdout } = await tabbat({}, ...args, '502')
    expect([code, stdout]).toEqual([1, expect.stringContaining('Failure (')])
    const wrong = await tabbat({}, ...args, '99')
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('an HTTP status from 200 to 599')])
  })

  it('explains a failure', async () => {
    const answer = save({ message: 'Insufficient balance' })
    const { code, stdout } = await tabbat(
      {},
      'vendors',
      'try',
      'dojah',
      '--answer',
      answer,
      '--status',
      '400',
    )
    expect([code, stdout]).toEqual([1, expect.stringContaining('Failure (funds): The account at the vendor')])
    const page = save('<html>12345678901</html>')
    const html = await tabbat({}, 'vendors', 'try', 'dojah', '--answer', page)
    expect([html.code, html.stdout]).toEqual([1, expect.stringContaining('Failure (not_json)')])
    expect(html.stdout + html.stderr).not.toContain('12345678901')
  })

  it('refuses what cannot be tried, and repeats no number', async () => {
    const answer = save({ entity: PERSON })
    const broken = writeVendor('acme', { title: 'Acme' }).file
    for (const [args, text] of [
      [['acme12345678901', '--answer', answer], 'There is no such vendor'],
      [['vtpass', '--answer', answer], 'vtpass is code'],
      [[broken, '--answer', answer], 'acme.json: the file needs the member rules'],
      [['blusalt', '--answer', answer, '--operation', 'virtual_nin'], 'no request for virtual_nin'],
      [['dojah', '--answer', '/nowhere/12345678901'], 'cannot be read (ENOENT)'],
      [['dojah', '--answer', answer, '--number-file', save('1234567890')], 'has 11 digits'],
      [['dojah', '--answer', answer, '--number-file', save('12345678901\n12')], 'must be a Nigerian mobile'],
    ] as const) {
      const { code, stdout, stderr } = await tabbat({}, 'vendors', 'try', ...args)
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(text)])
      expect(stderr).not.toContain('1234567890')
    }
  })
})

describe('tabbat vendors new', () => {
  const FOUND = {
    status: 'success',
    person: {
      nin: '12345678901',
      given_name: 'ADA',
      family_name: 'OBI',
      mobile: '+2348031234567',
      next_of_kin: { firstname: 'Uche' },
    },
  }
  const BASICS = [
    ...['--title', 'Acme', '--documentation', 'https://acme.example/docs'],
    ...['--url', 'https://api.acme.example'],
  ]
  const save = (content: unknown) => writeVendor('saved', content).file
  const create = (...args: string[]) => tabbat({}, 'vendors', 'new', 'acme', ...BASICS, ...args)

  it('writes a file that reads the saved answers, with nothing of the person in it', async () => {
    const dir = join(newFolder(), 'vendors.d')
    const [answer, missing] = [save(FOUND), save({ reason: 'We hold no entry for 99345678901.' })]
    const { code, stdout } = await create(
      ...['--auth', 'header X-Api-Key', '--nin', 'POST /v2/people {"type":"nin","id":"{number}"}'],
      ...['--nin-answer', answer, '--not-found-answer', missing, '--not-found-status', '200', '--dir', dir],
    )
    expect([code, stdout.includes('Left to do')]).toEqual([0, false])
    const path = join(dir, 'acme.json')
    const text = readFileSync(path, 'utf8')
    expect(JSON.parse(text)).toMatchObject({
      error_text: 'reason',
      authentication: { headers: { 'X-Api-Key': '{api_key}' } },
      operations: { nin: { request: { method: 'POST', body: { type: 'nin', id: '{number}' } } } },
      answers: {
        nin: {
          record: ['person'],
          phones: ['mobile'],
          fields: { personal_info: { first_name: 'given_name', last_name: 'family_name' } },
        },
      },
      texts: { unknown_number: ['We hold no entry for {number}.'] },
    })
    for (const value of ['12345678901', '99345678901', 'ADA', 'OBI', '8031234567', 'Uche'])
      expect(text).not.toContain(value)
    expect(readFileSync(join(dir, 'vendor.schema.json'), 'utf8')).toBe(
      readFileSync('vendors/vendor.schema.json', 'utf8'),
    )
    expect((await tabbat({}, 'vendors', 'validate', path)).code).toBe(0)
    const found = JSON.parse((await tabbat({}, 'vendors', 'try', path, '--answer', answer, '--json')).stdout)
    expect(found).toMatchObject({ outcome: 'found', problem: null, phone_matches: true })
    const none = JSON.parse((await tabbat({}, 'vendors', 'try', path, '--answer', missing, '--json')).stdout)
    expect(none).toMatchObject({ outcome: 'not_found', problem: null })
    const again = await create('--auth', 'none', '--nin', 'GET /nin', '--dir', dir)
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('acme.json exists')])
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  it.each(['bearer', 'basic', 'token /v1/token', 'none'])(
    'writes a file that can be used without saved answers, and says what is left: %s',
    async (auth) => {
      const dir = newFolder()
      const requests = ['--nin', 'GET /nin', '--virtual-nin', 'POST /vnin', '--bvn', 'GET /bvn/{number}']
      const { code, stdout } = await create('--auth', auth, ...requests, '--dir', dir)
      expect([code, stdout]).toEqual([0, expect.stringContaining('answers.bvn: the paths are guesses')])
      expect((await tabbat({ TABBAT_VENDORS_DIR: dir }, 'vendors', 'validate')).code).toBe(0)
    },
  )

  it('says what is wrong with the options', async () => {
    const dir = ['--dir', newFolder()]
    for (const [args, text] of [
      [
        ['new', 'acme', ...dir],
        'Without a terminal, give --title, --documentation, --url, --auth, --nin or --bvn.',
      ],
      [
        ['new', 'acme', ...BASICS, '--auth', 'none', '--nin', 'GET /nin'],
        'Give --dir, or set TABBAT_VENDORS_DIR',
      ],
      [['new', 'Acme-1', ...BASICS, ...dir], 'small letters and digits'],
      [['new', 'dojah', ...BASICS, ...dir], 'tabbat vendors show dojah --json'],
      [
        ['new', 'acme', ...BASICS, '--auth', 'magic', '--nin', 'GET /nin', ...dir],
        'Authentication is bearer',
      ],
      [
        ['new', 'acme', ...BASICS, '--auth', 'none', '--nin', '12345678901', ...dir],
        'must be a method, a path',
      ],
      [['new', 'acme', ...BASICS, '--auth', 'none', '--nin', 'POST /x {x}', ...dir], 'is not JSON'],
    ] as const) {
      const { code, stderr } = await tabbat({}, 'vendors', ...args)
      expect([code, stderr]).toEqual([1, expect.stringContaining(text)])
      expect(stderr).not.toContain('12345678901')
    }
  })
})
