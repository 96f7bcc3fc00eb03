// Theme, search, and a copy button for every command (copy.js, which the build adds below). Without script the pages can be read,
// and have neither. It runs in the head, so that a page is never shown in the wrong theme first.
const THEME = 'tabbat-theme'
const MAX_RESULTS = 20
const root = document.documentElement

// The console keeps the theme under the same name. A browser may refuse to keep anything for pages of a folder.
const readTheme = () => {
  try {
    return localStorage.getItem(THEME)
  } catch {
    return null
  }
}
const applyTheme = (theme) => {
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme
  else delete root.dataset.theme
}
const saveTheme = (theme) => {
  applyTheme(theme)
  try {
    localStorage.setItem(THEME, theme)
  } catch {
    // It holds for this page.
  }
}
applyTheme(readTheme())

let pages
let waiting = () => {}

// A script, because a page of a folder may not fetch.
const loadIndex = () => {
  if (document.getElementById('search-index')) return
  const script = document.createElement('script')
  script.id = 'search-index'
  script.src = 'search-index.js'
  document.head.append(script)
}

const toWords = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
const escapePattern = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

// Every word must begin a word of the section. One in the title of the page or in the heading counts more than one in the text.
function find(query) {
  const patterns = toWords(query).map((word) => new RegExp(`(?<![\\p{L}\\p{N}])${escapePattern(word)}`, 'iu'))
  if (patterns.length === 0) return []
  return pages
    .flatMap(([page, title, ...sections]) =>
      sections.map(([id, heading, text]) => ({ page, title, id, heading, text, patterns })),
    )
    .map((section) => ({ ...section, score: toScore(section) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, MAX_RESULTS)
}

function toScore({ title, id, heading, text, patterns }) {
  const inTitle = id === '' ? 30 : 4
  const points = patterns.map(
    (pattern) =>
      (pattern.test(heading) ? 20 : 0) + (pattern.test(title) ? inTitle : 0) + (pattern.test(text) ? 2 : 0),
  )
  return points.includes(0) ? 0 : points.reduce((sum, each) => sum + each, 0)
}

function toSnippet({ text, patterns }) {
  const at = patterns.map((pattern) => text.search(pattern)).find((index) => index >= 0) ?? 0
  const start = at < 60 ? 0 : text.lastIndexOf(' ', at - 40) + 1
  const snippet = document.createElement('small')
  const shown = `${start > 0 ? '… ' : ''}${text.slice(start, start + 150)}`
  const marks = new RegExp(patterns.map(({ source }) => `${source}[\\p{L}\\p{N}_]*`).join('|'), 'giu')
  let end = 0
  for (const match of shown.matchAll(marks)) {
    const mark = document.createElement('b')
    mark.textContent = match[0]
    snippet.append(shown.slice(end, match.index), mark)
    end = match.index + match[0].length
  }
  snippet.append(shown.slice(end), start + 150 < text.length ? ' …' : '')
  return snippet
}

function toResult(found) {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = found.id === '' ? found.page : `${found.page}#${found.id}`
  link.append(found.heading === '' ? found.title : `${found.title}: ${found.heading}`, toSnippet(found))
  item.append(link)
  return item
}

function setUpSearch() {
  const [input, list, status] = ['search', 'results', 'search-status'].map((id) =>
    document.getElementById(id),
  )
  const close = () => {
    list.hidden = true
    status.textContent = ''
  }
  const show = () => {
    if (input.value.trim() === '') return close()
    if (!pages) {
      waiting = show
      return loadIndex()
    }
    const found = find(input.value)
    list.replaceChildren(...found.map(toResult))
    if (found.length === 0)
      list.append(Object.assign(document.createElement('li'), { textContent: 'Nothing found.' }))
    list.hidden = false
    status.textContent = found.length === 1 ? '1 result' : `${found.length} results`
  }
  const move = (step) => {
    const places = [input, ...list.querySelectorAll('a')]
    const next = places[places.indexOf(document.activeElement) + step]
    next?.focus()
  }
  input.closest('search').hidden = false
  input.addEventListener('focus', loadIndex)
  input.addEventListener('input', show)
  input.closest('search').addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      input.focus()
      close()
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      move(event.key === 'ArrowDown' ? 1 : -1)
    } else if (event.key === 'Enter' && event.target === input) list.querySelector('a')?.click()
  })
  list.addEventListener('click', close)
  document.addEventListener('click', (event) => {
    if (!input.closest('search').contains(event.target)) close()
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.target instanceof Element && event.target.matches('input, select, textarea')) return
    event.preventDefault()
    input.focus()
    input.select()
  })
}

addEventListener('DOMContentLoaded', () => {
  const theme = document.getElementById('theme')
  theme.value = root.dataset.theme ?? 'auto'
  theme.hidden = false
  theme.addEventListener('change', () => saveTheme(theme.value))
  setUpSearch()
  const headings = document.querySelector('.toc details')
  if (headings && matchMedia('(min-width: 85rem)').matches) headings.open = true
})

// Called by search-index.js.
globalThis.addSearchIndex = (index) => {
  pages = index
  waiting()
}
