#!/usr/bin/env python3
"""Measures the publisher's judgement: which entries of feeds it announces, and how.

It serves the feeds of each scenario on the loopback interface, runs `newswire publish` once for each step with the clock
of that step (faketime), records the messages that the publisher sends to a hub, and compares them with the scenario's
expectations. README.md describes the files. Only the standard library of Python 3.9 or later, and the program faketime
(Debian: faketime), are needed.
"""
import argparse, collections, concurrent.futures, datetime, email.utils, hashlib, html, http.server, json, os, re, shutil, socketserver, subprocess, sys, tempfile, threading, time
from xml.sax.saxutils import escape, quoteattr

T0 = datetime.datetime(2026, 11, 24, 12, 0, 0, tzinfo=datetime.timezone.utc)  # a Tuesday
HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENTS = None                 # the folder for --documents
UNITS = {'s': 1, 'm': 60, 'h': 3600, 'd': 86400}


# -- Times ---------------------------------------------------------------------------------------------------------------

def seconds(text):
    """'+1h30m' -> 5400, '-2d' -> -172800, '0' -> 0."""
    text = str(text).strip()
    sign = -1 if text.startswith('-') else 1
    parts = re.findall(r'(\d+)([smhd])', text)
    if not parts and text.lstrip('+-') != '0': raise ValueError(f'not a time: {text!r}')
    return sign * sum(int(n) * UNITS[u] for n, u in parts)


def moment(text, at):
    """A time relative to the start of the scenario ('-2h'), or to the present step ('now-5m')."""
    if text.startswith('now'): return T0 + datetime.timedelta(seconds=at + (seconds(text[3:]) if text[3:] else 0))
    return T0 + datetime.timedelta(seconds=seconds(text))


def rfc822(when): return when.strftime('%a, %d %b %Y %H:%M:%S GMT')
def iso(when): return when.strftime('%Y-%m-%dT%H:%M:%SZ')


# -- Documents -----------------------------------------------------------------------------------------------------------

def stamp(entry, key, at, form):
    value = entry.get(key)
    if value is None: return None
    if value.startswith('='): return value[1:]          # literally
    when = moment(value, at)
    if entry.get('date_only'): return when.strftime('%Y-%m-%d')
    return rfc822(when) if form == 'rss' else iso(when)


def cap_xml(cap, at):
    """A CAP 1.2 alert with one info block for each of `infos`, or one from the alert's own fields."""
    def tag(name, value): return f'<{name}>{escape(str(value))}</{name}>' if value is not None else ''
    refs = ' '.join(f"{r[0]},{r[1]},{iso(moment(r[2], at))}" for r in cap.get('references', []))
    out = '<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2">' + tag('identifier', cap['identifier'])
    out += tag('sender', cap.get('sender', 'office@met.example')) + tag('sent', iso(moment(cap['sent'], at)))
    out += tag('status', cap.get('status', 'Actual')) + tag('msgType', cap.get('msgType', 'Alert')) + tag('scope', cap.get('scope', 'Public'))
    out += tag('references', refs or None)
    for info in cap.get('infos') or [cap]:
        out += '<info>' + tag('language', info.get('language')) + tag('category', 'Met') + tag('event', info.get('event', 'Weather'))
        out += tag('urgency', info.get('urgency', 'Expected')) + tag('severity', info.get('severity', 'Moderate')) + tag('certainty', 'Likely')
        if info.get('expires'): out += tag('expires', iso(moment(info['expires'], at)))
        out += tag('headline', info.get('headline')) + tag('description', info.get('description'))
        out += '<area>' + tag('areaDesc', info.get('area', 'Coast')) + '</area></info>'
    return out + '</alert>'


def rss(feed, entries, at):
    out = ['<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
           'xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0">\n<channel>',
           f"<title>{escape(feed.get('title', 'Feed'))}</title><link>{escape(feed['link'])}</link><description>News</description>", feed.get('extra', '')]
    for e in entries:
        out.append('<item>')
        if e.get('title') is not None: out.append(f"<title>{escape(e['title'])}</title>")
        if e.get('link'): out.append(f"<link>{escape(e['link'])}</link>")
        if e.get('id') is not None: out.append(f"<guid isPermaLink=\"{'true' if e.get('permalink') else 'false'}\">{escape(e['id'])}</guid>")
        date = stamp(e, 'date', at, 'rss')
        if date: out.append(f'<dc:date>{date}</dc:date>' if e.get('date_only') else f'<pubDate>{date}</pubDate>')
        if e.get('summary') is not None: out.append(f"<description>{escape(e['summary'])}</description>")
        out += [f'<category>{escape(c)}</category>' for c in e.get('categories', [])]
        if e.get('enclosure'): out.append(f"<enclosure url={quoteattr(e['enclosure'])} type=\"audio/mpeg\" length=\"1\"/>")
        if e.get('origlink'): out.append(f"<feedburner:origLink>{escape(e['origlink'])}</feedburner:origLink>")
        out.append(e.get('extra', '') + '</item>')
    return '\n'.join(out + ['</channel></rss>\n']), 'application/rss+xml'


def atom(feed, entries, at):
    out = ['<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">', f"<title>{escape(feed.get('title', 'Feed'))}</title>",
           f"<link href={quoteattr(feed['link'])}/><id>{escape(feed.get('id', feed['link']))}</id><updated>{iso(T0)}</updated>", feed.get('extra', '')]
    for e in entries:
        out.append(f"<entry><id>{escape(e.get('id') or e.get('link') or '')}</id>")
        if e.get('title') is not None: out.append(f"<title>{escape(e['title'])}</title>")
        if e.get('link'): out.append(f"<link href={quoteattr(e['link'])}/>")
        published, updated = stamp(e, 'date', at, 'atom'), stamp(e, 'updated', at, 'atom')
        if published: out.append(f'<published>{published}</published>')
        if updated or published: out.append(f'<updated>{updated or published}</updated>')
        if e.get('summary') is not None: out.append(f"<summary>{escape(e['summary'])}</summary>")
        out += [f'<category term={quoteattr(c)}/>' for c in e.get('categories', [])]
        if e.get('enclosure'): out.append(f"<link rel=\"enclosure\" href={quoteattr(e['enclosure'])}/>")
        if e.get('cap'): out.append(f"<content type=\"text/xml\">{cap_xml(e['cap'], at)}</content>")
        out.append(e.get('extra', '') + '</entry>')
    return '\n'.join(out + ['</feed>\n']), 'application/atom+xml'


def jsonfeed(feed, entries, at):
    items = []
    for e in entries:
        item = {'id': e.get('id') or e.get('link'), 'url': e.get('link'), 'title': e.get('title'), 'summary': e.get('summary'), 'tags': e.get('categories'),
                'date_published': stamp(e, 'date', at, 'json'), 'date_modified': stamp(e, 'updated', at, 'json')}
        items.append({k: v for k, v in item.items() if v is not None})
    return json.dumps({'version': 'https://jsonfeed.org/version/1.1', 'title': feed.get('title', 'Feed'), 'home_page_url': feed['link'], 'items': items}, ensure_ascii=False, indent=1), 'application/feed+json'


def alert(feed, entries, at):
    """The document is one CAP alert."""
    return '<?xml version="1.0" encoding="utf-8"?>\n' + cap_xml(entries[0]['cap'], at), 'application/cap+xml'


FORMATS = {'cap': alert, 'rss': rss, 'atom': atom, 'json': jsonfeed}


# -- The feeds' server and the recording hub -----------------------------------------------------------------------------

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.pages = {}                                  # (host, path) -> (status, headers, body, etag or None)
        self.clocks = {}                                 # scenario name -> seconds
        self.messages = collections.defaultdict(list)    # hub name -> properties
        self.requests = collections.Counter()            # (host, path)
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, kwargs={'poll_interval': .05}, daemon=True).start()

    def handle_error(self, request, address): pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def reply(self, status, headers, body):
        host = self.headers.get('Host', '').split(':')[0]
        name = host.split('.')[-2] if host.endswith('.localhost') else ''
        self.send_response_only(status)
        when = T0 + datetime.timedelta(seconds=self.server.clocks.get(name, 0))
        self.send_header('Date', rfc822(when))
        for key, value in headers.items(): self.send_header(key, value)
        if status != 304: self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if status != 304: self.wfile.write(body)

    def do_GET(self):
        host = self.headers.get('Host', '').split(':')[0].lower()
        key = (host, self.path)
        with self.server.lock: self.server.requests[key] += 1
        page = self.server.pages.get(key)
        if page is None: return self.reply(404, {}, b'nothing here')
        status, headers, body, etag = page
        if etag:
            headers = {**headers, 'ETag': etag}
            if self.headers.get('If-None-Match') == etag: return self.reply(304, {'ETag': etag}, b'')
        self.reply(status, headers, body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        path = self.path.split('?')[0].strip('/').split('/')
        if len(path) == 2 and path[1] == 'messages':
            with self.server.lock: self.server.messages[path[0]].append((json.loads(body), self.headers.get('ServiceBusNotification-Tags')))
            return self.reply(201, {}, b'')
        self.reply(404, {}, b'')

    def do_PUT(self):
        self.rfile.read(int(self.headers.get('Content-Length') or 0))
        self.reply(404, {}, b'')                          # what only newswire's own hub has

    do_DELETE = do_PUT
    def log_message(self, *args): pass


# -- Running one scenario ------------------------------------------------------------------------------------------------

class Publisher:
    """One set of feed lists with its own state and its own hub."""

    def __init__(self, server, binary, name, options):
        self.server, self.binary, self.name = server, binary, name
        self.dir = tempfile.mkdtemp(prefix='nw-judgement-')
        os.makedirs(self.dir + '/feeds')
        port = server.server_address[1]
        self.port = port
        with open(self.dir + '/connection', 'w') as f:
            f.write(f'Endpoint=http://127.0.0.1:{port}/;SharedAccessKeyName=DefaultFullSharedAccessSignature;SharedAccessKey=' + 'A' * 43 + '=\n')
        os.chmod(self.dir + '/connection', 0o600)
        self.options = [x for k, v in options.items() for x in ('--' + k, str(v))]

    def host(self, url):
        """http://grid.example/x -> ('grid.example.NAME.localhost', '/x')"""
        rest = url.split('://', 1)[1]
        host, _, path = rest.partition('/')
        return f'{host}.{self.name}.localhost'.lower(), '/' + path

    def address(self, url):
        host, path = self.host(url)
        return f'http://{host}:{self.port}{path}'

    def write_list(self, number, category, settings, feeds):
        lines = [f'category: {json.dumps(category)}'] + [f'{k}: {json.dumps(v, ensure_ascii=False)}' for k, v in settings.items()] + ['feeds:']
        for feed in feeds:
            values = {'url': self.address(feed['url']), 'local': True, 'every': '1m', 'by-agreement': True, **feed.get('settings', {})}
            for i, (k, v) in enumerate(values.items()):
                lines.append(('  - ' if i == 0 else '    ') + f'{k}: {json.dumps(v, ensure_ascii=False)}')
        with open(f'{self.dir}/feeds/{number:03}.yaml', 'w') as f: f.write('\n'.join(lines) + '\n')

    def serve(self, url, status, headers, body, etag=None):
        self.server.pages[self.host(url)] = (status, headers, body, etag)

    def run(self, at):
        """Runs one pass at a time of the scenario, and returns its messages."""
        self.server.clocks[self.name] = at
        first = len(self.server.messages[self.name])
        clock = (T0 + datetime.timedelta(seconds=at)).strftime('@%Y-%m-%d %H:%M:%S')
        command = ['faketime', '--exclude-monotonic', '-f', clock, self.binary, 'publish', '--feeds', self.dir + '/feeds', '--state', self.dir + '/state',
                   '--connection-file', self.dir + '/connection', '--hub', self.name, *self.options]
        env = {'PATH': os.environ.get('PATH', '/usr/bin:/bin'), 'HOME': self.dir, 'TZ': 'UTC', 'LANG': 'C.UTF-8', 'XDG_CONFIG_HOME': self.dir}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        if done.returncode not in (0, 75): raise RuntimeError(f'{self.name}: exit {done.returncode}: {done.stderr.strip()[:600]}')
        return self.server.messages[self.name][first:], done.stderr.strip()

    def close(self):
        if os.environ.get('KEEP'): print('kept', self.dir)
        else: shutil.rmtree(self.dir, ignore_errors=True)


def plain(text):
    return ' '.join(html.unescape(re.sub(r'<[^>]*>', ' ', text or '')).split())


def is_digest(message): return 'link' not in message and re.match(r'\d+ (more )?.*(story|stories)$', message.get('title', '')) is not None


class Result:
    def __init__(self, scenario):
        self.id, self.kind = scenario['id'], scenario['kind']
        self.expected = self.lost = self.false = self.wrong = self.quiet = 0
        self.notes, self.log, self.error = [], [], None

    @property
    def right(self): return not (self.lost or self.false or self.wrong or self.error)


def run_scenario(scenario, server, binary):
    result = Result(scenario)
    name = 's' + hashlib.sha1((scenario['id'] + str(id(scenario))).encode()).hexdigest()[:8]
    pub = Publisher(server, binary, name, scenario.get('options', {}))
    try:
        play(scenario, pub, result)
    except Exception as error:  # a broken scenario must not end the run
        result.error = f'{type(error).__name__}: {error}'
        result.notes.append(f'ERROR {result.error}')
    finally:
        pub.close()
    return result


def play(scenario, pub, result):
    feeds = scenario['feeds']
    entries = scenario.get('entries', {})
    for feed in feeds.values(): feed.setdefault('link', '/'.join(feed['url'].split('/')[:3]) + '/')
    lists = scenario.get('lists') or [{'feeds': list(feeds)}]
    for number, one in enumerate(lists):
        pub.write_list(number, one.get('category', 'World'), one.get('settings', {}), [feeds[f] for f in one['feeds']])
    own = {f['url'].split('/')[2] for f in feeds.values()} if scenario.get('own_site') else set()

    def local(text):
        for host in own: text = text.replace(f'://{host}', f'://{host}.{pub.name}.localhost:{pub.port}')
        return text

    def filled(label, number):
        def fill(value):
            if isinstance(value, str): return local(value.replace('{n}', str(number)))
            if isinstance(value, dict): return {k: fill(v) for k, v in value.items()}
            if isinstance(value, list): return [fill(v) for v in value]
            return value
        return fill(entries[label])

    told, names = {}, {}                 # label -> step at which it was told; label -> story name of its message
    seen = set()
    for number, step in enumerate(scenario['steps']):
        at = seconds(step['at'])
        links = {}
        for f, content in step.get('feeds', {}).items():
            feed = feeds[f]
            if isinstance(content, list): content = {'entries': content}
            if 'entries' in content:
                rows = [filled(x, number) for x in content['entries']]
                form = content.get('format', feed.get('format', 'rss'))
                shown = {**feed, **{k: v for k, v in content.items() if k in ('title', 'link', 'extra', 'id')}}
                text, kind = FORMATS[form](shown, rows, at)
            elif 'raw' in content: text, kind = local(content['raw']), content.get('type', 'application/xml')
            else: text, kind = content.get('body', ''), content.get('type', 'text/html')
            headers = {'Content-Type': kind, **content.get('headers', {})}
            if content.get('redirect'): headers['Location'] = pub.address(feeds[content['redirect']]['url'])
            body = text.encode()
            if DOCUMENTS and body:
                os.makedirs(DOCUMENTS, exist_ok=True)
                with open(f"{DOCUMENTS}/{scenario['id']}.{number + 1}.{f}", 'wb') as out: out.write(body)
            etag = None
            if feed.get('etag') == 'stuck': etag = '"same"'
            elif feed.get('etag'): etag = '"' + hashlib.sha1(body).hexdigest()[:12] + '"'
            pub.serve(feed['url'], content.get('status', 200), headers, body, etag)
        messages, errors = pub.run(at)
        compare(scenario, step, number, messages, errors, entries, lambda x: filled(x, number), told, names, seen, result)
    for label in scenario.get('finally', {}).get('told', []):
        result.expected += 1
        if label not in told:
            result.lost += 1
            result.notes.append(f'LOST {label!r}: never announced: {entries[label].get("title")!r}')


def compare(scenario, step, number, messages, errors, entries, filled, told, names, seen, result):
    def all_titles(label):
        entry = filled(label)
        cap = entry.get('cap') or {}
        titles = [entry.get('title'), cap.get('headline')] + [i.get('headline') for i in cap.get('infos', [])]
        return [plain(x) for x in titles if x] or ['']

    def titles_of(label): return all_titles(label)[0]

    expected = []
    for item in step.get('expect', {}).get('announce', []):
        item = {'any': [item]} if isinstance(item, str) else dict(item)
        item['any'] = [item['any']] if isinstance(item['any'], str) else item['any']
        kind = item.get('kind', 'new')
        item['kinds'] = [kind] if isinstance(kind, str) else kind
        item['done'] = False
        expected.append(item)
    may = set(step.get('expect', {}).get('may', []))
    result.expected += len(expected)
    shown = {x for c in step.get('feeds', {}).values() for x in (c if isinstance(c, list) else c.get('entries', []))}
    result.quiet += len([x for x in shown - seen if x not in may and not any(x in i['any'] for i in expected)])
    where = f"step {number + 1} ({step['at']})"
    seen |= shown
    known = seen | {x for i in expected for x in i['any']}

    def labels_of(message, pool):
        best, found = 0, []
        for label in pool:
            entry = filled(label)
            titles, link = all_titles(label), entry.get('link')
            points = 0
            if plain(message.get('title', '')) in titles and titles != ['']: points += 2
            elif any(x and plain(message.get('title', '')).endswith(': ' + x) for x in titles): points += 1.5
            if link and message.get('link') == link: points += 1.6
            elif entry.get('origlink') and message.get('link') == entry['origlink']: points += 1.6
            if points > best: best, found = points, [label]
            elif points and points == best: found.append(label)
        return found

    def take(labels, message, place):
        kind = {'update': 'update', 'correction': 'correction', 'withdrawn': 'withdrawal'}.get(message.get('status'), 'new')
        if place == 'digest': kind = 'new'
        hits = [i for i in expected if not i['done'] and set(i['any']) & set(labels)]
        hits.sort(key=lambda i: kind not in i['kinds'])
        if hits:
            item = hits[0]
            item['done'] = True
            for label in item['any']:
                told.setdefault(label, number)
                if place == 'single': names.setdefault(label, message.get('story'))
            problems = []
            if kind not in item['kinds'] and place == 'single': problems.append(f"is {kind}, expected {'/'.join(item['kinds'])}")
            if item.get('in') and item['in'] != place: problems.append(f"is in {place}, expected {item['in']}")
            for key, prop in (('title', 'title'), ('text', 'messageParam'), ('summary', 'summary'), ('link', 'link')):
                want = item.get(key)
                if want is None or place == 'digest': continue
                want = [want] if isinstance(want, str) else want
                if message.get(prop) not in want: problems.append(f'{key} {message.get(prop)!r}, expected {want}')
            for word in item.get('contains', []):
                if word not in json.dumps(message, ensure_ascii=False): problems.append(f'does not contain {word!r}')
            for word in item.get('lacks', []):
                if word in json.dumps(message, ensure_ascii=False): problems.append(f'contains {word!r}')
            if item.get('replaces') and place == 'single':
                old = names.get(item['replaces'])
                if not old or old not in (message.get('replaces') or '').split(): problems.append(f"does not replace the message of {item['replaces']!r}")
            if item.get('urgency') is not None and place == 'single' and (message.get('urgency') or '') != item['urgency']: problems.append(f"urgency {message.get('urgency')!r}")
            if problems:
                result.wrong += 1
                result.notes.append(f"WRONG {where}: {'/'.join(item['any'])}: {'; '.join(problems)}")
            return True
        free = [x for x in labels if x in may and x not in told]
        if free:
            for label in free: told.setdefault(label, number)
            if place == 'single': names.setdefault(free[0], message.get('story'))
            return True
        return False

    order = []
    for message, tags in messages:
        if is_digest(message):
            result.log.append(f"{where}: DIGEST {message['title']}: {message.get('summary', '')[:200]}")
            count = int(message['title'].split()[0])
            # A title may be the beginning of a longer one, which is taken out first.
            listed, rest = [], message.get('summary', '')
            for label in sorted(known, key=lambda x: -len(titles_of(x))):
                start = titles_of(label)[:90]
                if start and (start in rest or any(titles_of(x) == titles_of(label) for x in listed)):
                    listed.append(label)
                    rest = rest.replace(start, '', 1)
            bad, hits, used = [], 0, set()
            for label in listed:
                key = titles_of(label)
                if key in used: continue
                used.add(key)
                hits += 1
                if not take([label], message, 'digest'): bad.append(label)
            surplus = count - hits
            for item in expected:
                if surplus > 0 and not item['done'] and item.get('in') != 'single':
                    item['done'] = True
                    surplus -= 1
                    for label in item['any']: told.setdefault(label, number)
            if surplus > 0: bad.append(f'{surplus} others')
            if bad:
                result.false += 1
                result.notes.append(f"FALSE {where}: digest with {', '.join(map(str, bad))}: {message['title']}")
            continue
        labels = labels_of(message, known)
        kind = message.get('status') or 'new'
        result.log.append(f"{where}: {kind} {message.get('title')!r} -> {labels}")
        order += labels[:1]
        if not take(labels, message, 'single'):
            again = [x for x in labels if x in told]
            result.false += 1
            result.notes.append(f"FALSE {where}: {kind} {message.get('title')!r} ({'/'.join(labels) or 'unknown'}{', told before' if again else ''})")
    wanted = step.get('expect', {}).get('order')
    if wanted:
        got = [x for x in order if x in wanted]
        if got != [x for x in wanted if x in got]:
            result.wrong += 1
            result.notes.append(f'WRONG {where}: order {got}, expected {wanted}')
    most = step.get('expect', {}).get('at_most')
    if most is not None and len(messages) > most:
        result.false += 1
        result.notes.append(f'FALSE {where}: {len(messages)} messages, at most {most}')
    for item in expected:
        if not item['done']:
            result.lost += 1
            result.notes.append(f"LOST {where}: {'/'.join(item['any'])}: {entries[item['any'][0]].get('title') or entries[item['any'][0]].get('summary') or item['any'][0]!r}")
    if errors: result.log.append(f'{where}: stderr: {errors[:300]}')


# -- Pairs of titles -----------------------------------------------------------------------------------------------------

def read_pairs(path):
    rows = []
    with open(path, encoding='utf-8') as f:
        for line in f:
            line = line.rstrip('\n')
            if not line or line.startswith('#') or line.startswith('id\t'): continue
            ident, group, a, b, across, within, name, why = line.split('\t')
            rows.append({'id': ident, 'group': group, 'a': a, 'b': b, 'across': across, 'within': within, 'name': name, 'why': why})
    return rows


def run_pairs(rows, server, binary, where):
    """Announces title A, and 30 minutes later title B: from another feed ('across') or from the same one ('within')."""
    results = []
    rows = [r for r in rows if r[where] in ('same', 'different')]
    for start in range(0, len(rows), 100):
        batch = rows[start:start + 100]
        pub = Publisher(server, binary, f'p{where[0]}{start}x{time.time_ns() % 10**8}', {})
        docs = []
        for i, row in enumerate(batch):
            urls = [f'http://first{i}.example/feed.xml'] + ([f'http://second{i}.example/feed.xml'] if where == 'across' else [])
            # A feed that ends its titles with its name does so in all of them.
            name, tail = row['name'], ''
            if name: tail = next((s + name for s in (' - ', ' – ', ' — ', ' | ') if row['b'].endswith(s + name)), '')
            titles = ('First Gazette', name or 'Second Courier') if where == 'across' else (name or 'First Gazette',)
            feeds = [{'url': u, 'title': t, 'link': '/'.join(u.split('/')[:3]) + '/'} for u, t in zip(urls, titles)]
            pub.write_list(i, f'P{i}', {}, feeds)
            site = [f['link'] for f in feeds] + [feeds[0]['link']]
            seed = [[{'title': f'{word} number {k} of the week {7 * i + k}' + (tail if k or where == 'within' else ''), 'link': site[k] + f'seed{n}', 'id': f'seed{k}-{n}', 'date': f'-{n + 2}d'}
                     for n, word in enumerate(('Barley harvest', 'Chess problem', 'Garden walk'))] for k in range(2)]
            a = {'title': row['a'], 'link': site[0] + 'story-a', 'id': 'a-1', 'date': '+10m'}
            b = {'title': row['b'], 'link': site[1] + 'story-b', 'id': 'b-2', 'date': '+40m'}
            docs.append((feeds, seed, a, b))
        found = collections.defaultdict(list)
        for at in (0, 900, 2700):
            for feeds, seed, a, b in docs:
                first = ([b] if at >= 2700 and len(feeds) == 1 else []) + ([a] if at >= 900 else []) + seed[0]
                text, kind = rss(feeds[0], first, at)
                pub.serve(feeds[0]['url'], 200, {'Content-Type': kind}, text.encode())
                if len(feeds) == 2:
                    text, kind = rss(feeds[1], ([b] if at >= 2700 else []) + seed[1], at)
                    pub.serve(feeds[1]['url'], 200, {'Content-Type': kind}, text.encode())
            messages, errors = pub.run(at)
            for message, _ in messages: found[message['category']].append((at, message.get('title'), message.get('link')))
        for i, row in enumerate(batch):
            first = [m for m in found[f'P{i}'] if m[0] == 900]
            second = [m for m in found[f'P{i}'] if m[0] == 2700]
            outcome = 'broken' if len(first) != 1 or len(second) > 1 else ('different' if second else 'same')
            results.append({**row, 'where': where, 'got': outcome, 'want': row[where]})
        pub.close()
    return results


# -- Reports -------------------------------------------------------------------------------------------------------------

def load(folder, args):
    out = []
    for root, _, files in os.walk(os.path.join(folder, 'scenarios')):
        for file in sorted(files):
            if not file.endswith('.json'): continue
            with open(os.path.join(root, file), encoding='utf-8') as f: scenario = json.load(f)
            if args.kind and scenario['kind'] not in args.kind: continue
            if args.id and scenario['id'] not in args.id: continue
            out.append(scenario)
    return sorted(out, key=lambda s: s['id'])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folders', nargs='*', default=[os.path.join(HERE, 'public')], help='folders with scenarios/ and pairs.tsv (default: public)')
    parser.add_argument('--binary', default=os.environ.get('NEWSWIRE', '.build/release/newswire'))
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--kind', action='append', help='only this kind; repeatable')
    parser.add_argument('--id', action='append', help='only this scenario; repeatable')
    parser.add_argument('--only', choices=['scenarios', 'pairs'])
    parser.add_argument('-v', '--verbose', action='store_true', help='show every error; without it they are shown if a minimum or maximum is missed')
    parser.add_argument('-vv', '--trace', action='store_true', help='show every message, too')
    parser.add_argument('--documents', metavar='FOLDER', help='also write each document that is served')
    parser.add_argument('--json', help='write the results to this file')
    parser.add_argument('--min-scenarios', type=float, default=0, metavar='PERCENT', help='smallest share of scenarios without an error')
    parser.add_argument('--max-lost', type=float, default=100, metavar='PERCENT', help='largest share of expected stories that are not announced')
    parser.add_argument('--max-false', type=int, default=10 ** 9, metavar='N', help='largest number of messages that should not be sent')
    parser.add_argument('--max-wrong', type=int, default=10 ** 9, metavar='N', help='largest number of messages with a wrong kind, text or place')
    parser.add_argument('--max-pairs-lost', type=int, default=10 ** 9, metavar='N', help='largest number of pairs of different stories that are taken for one')
    parser.add_argument('--min-pairs', type=float, default=0, metavar='PERCENT', help='smallest share of title pairs judged right')
    args = parser.parse_args()
    global DOCUMENTS
    DOCUMENTS = args.documents
    if args.trace: args.verbose = True
    args.binary = os.path.abspath(args.binary)
    if not os.path.exists(args.binary): parser.error(f'no program at {args.binary}: build it, or give --binary')
    if not shutil.which('faketime'): parser.error("the program 'faketime' is missing: apt-get install faketime")
    started = time.time()
    server = Server()
    total, pairs = [], []
    for folder in args.folders:
        if args.only != 'pairs':
            scenarios = load(folder, args)
            with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                for result in pool.map(lambda s: run_scenario(s, server, args.binary), scenarios):
                    total.append(result)
                    if args.verbose and (not result.right or args.trace): show(result)
        path = os.path.join(folder, 'pairs.tsv')
        if args.only != 'scenarios' and os.path.exists(path) and not args.kind and not args.id:
            rows = read_pairs(path)
            pairs += run_pairs(rows, server, args.binary, 'across') + run_pairs(rows, server, args.binary, 'within')
    ok = report(total, pairs, args)
    if not ok and not args.verbose:
        for result in total:
            if not result.right: show(result)
        show_pairs(pairs)
    print(f'{time.time() - started:.0f} seconds')
    if args.json:
        with open(args.json, 'w') as f:
            json.dump({'scenarios': [{**vars(r), 'right': r.right} for r in total], 'pairs': pairs}, f, indent=1, ensure_ascii=False)
    sys.exit(0 if ok else 1)


def report(total, pairs, args):
    ok = True
    if total:
        kinds = sorted({r.kind for r in total})
        print(f"\n{'kind':34} scenarios  right  expected  lost  false  wrong  errors")
        def line(name, rows):
            f = lambda k: sum(getattr(r, k) for r in rows)
            print(f"{name:34} {len(rows):9} {sum(r.right for r in rows):6} {f('expected'):9} {f('lost'):5} {f('false'):6} {f('wrong'):6} {sum(1 for r in rows if r.error):7}")
        for kind in kinds: line(kind, [r for r in total if r.kind == kind])
        line('all', total)
        right = 100 * sum(r.right for r in total) / len(total)
        lost = 100 * sum(r.lost for r in total) / max(1, sum(r.expected for r in total))
        false, wrong = sum(r.false for r in total), sum(r.wrong for r in total)
        print(f'scenarios right: {right:.1f} %; stories lost: {lost:.1f} %; false messages: {false}, where {sum(r.quiet for r in total)} entries had to stay silent; wrong kind, text or place: {wrong}')
        ok &= right >= args.min_scenarios and lost <= args.max_lost and false <= args.max_false and wrong <= args.max_wrong and not any(r.error for r in total)
    if pairs:
        print(f"\n{'title pairs':34} {'':9}  right  of  lost  repeated  broken")
        for where in ('across', 'within'):
            for group in sorted({p['group'] for p in pairs}):
                rows = [p for p in pairs if p['where'] == where and p['group'] == group]
                if rows: pair_line(f'{where}: {group}', rows)
        for where in ('across', 'within'): pair_line(f'{where}: all', [p for p in pairs if p['where'] == where])
        right = 100 * sum(p['got'] == p['want'] for p in pairs) / len(pairs)
        different, same = [p for p in pairs if p['want'] == 'different'], [p for p in pairs if p['want'] == 'same']
        print(f"pairs right: {right:.1f} %; different stories lost: {sum(p['got'] == 'same' for p in different)} of {len(different)}; same stories repeated: {sum(p['got'] == 'different' for p in same)} of {len(same)}")
        ok &= right >= args.min_pairs and sum(p['got'] == 'same' for p in different) <= args.max_pairs_lost and not any(p['got'] == 'broken' for p in pairs)
        if args.verbose: show_pairs(pairs)
    return ok


def show(result):
    """Prints what came in each step of a scenario, and what was expected instead."""
    print(f'{result.id} [{result.kind}]')
    print('\n'.join(['    ' + x for x in result.log] + ['  ' + x for x in result.notes]), flush=True)


def show_pairs(pairs):
    for p in pairs:
        if p['got'] != p['want']: print(f"  {p['id']} {p['where']}: {p['got']}, should be {p['want']}: {p['a']!r} / {p['b']!r} ({p['why']})")


def pair_line(name, rows):
    if not rows: return
    lost = sum(p['want'] == 'different' and p['got'] == 'same' for p in rows)
    again = sum(p['want'] == 'same' and p['got'] == 'different' for p in rows)
    print(f"{name:34} {'':9} {sum(p['got'] == p['want'] for p in rows):6} {len(rows):3} {lost:5} {again:9} {sum(p['got'] == 'broken' for p in rows):7}")


if __name__ == '__main__': main()
