internal import CLibXML2
internal import Feeds
internal import Foundation

/// The speed of reading feeds, beside that of libxml2 alone, whose events nobody takes.
///
/// `feed-reading [FOLDER]…`: made-up podcasts, and all documents below the folders that are XML feeds; see
/// Benchmarks/README.md.
@main
enum FeedReading {
    /// CPU seconds that each way of reading is measured for, at least, in turns.
    private static let seconds = 3.0
    private static let rounds = 6
    /// Bytes; smaller documents, such as the test cases in a collection of feeds, measure what surrounds the reading.
    private static let ordinary = 8_192

    static func main() {
        // Faults of the documents that are left out are not to be printed.
        xmlSetStructuredErrorFunc(nil) { _, _ in }
        let folders = Array(CommandLine.arguments.dropFirst())
        let documents = folders.flatMap(documents)
        guard folders.isEmpty || !documents.isEmpty else {
            FileHandle.standardError.write(Data("feed-reading: error: no XML feeds in \(folders)\n".utf8))
            exit(1)
        }
        measure("documents of 8 KiB and more", documents.filter { $0.count >= ordinary })
        measure("all documents", documents)
        measure("podcasts with long show notes, escaped and in CDATA", ShowNotes.documents)
    }

    private static func measure(_ title: String, _ documents: [[UInt8]]) {
        guard !documents.isEmpty else { return }
        let bytes = documents.reduce(0) { $0 + $1.count }
        print("\(title): \(documents.count), \(bytes / 1_000) kB")
        let ways: [(name: String, read: ([UInt8]) -> Int)] = [
            ("libxml2 SAX alone", scanned), ("entries", entries), ("entries, titles, summaries", texts),
        ]
        var spent = [Double](repeating: 0, count: ways.count)
        var passes = [Int](repeating: 0, count: ways.count)
        for _ in 0..<rounds {
            for (index, way) in ways.enumerated() {
                let start = cpuSeconds()
                var now = start
                while now - start < seconds / Double(rounds) {
                    for document in documents { sink &+= way.read(document) }
                    passes[index] += 1
                    now = cpuSeconds()
                }
                spent[index] += now - start
            }
        }
        let rates = ways.indices.map { Double(bytes * passes[$0]) / spent[$0] / 1_000_000 }
        for (index, way) in ways.enumerated() {
            let name = way.name.padding(toLength: 28, withPad: " ", startingAt: 0)
            print("  \(name)", String(format: "%6.1f MB a CPU second  %4.2f", rates[index], rates[index] / rates[0]))
        }
    }

    // MARK: The ways

    nonisolated(unsafe) private static var sink = 0

    /// Every event is raised and counted, none is kept.
    private static func scanned(_ document: [UInt8]) -> Int {
        var handler = xmlSAXHandler()
        handler.initialized = UInt32(XML_SAX2_MAGIC)
        handler.startElementNs = { _, _, _, _, _, _, _, _, _ in FeedReading.sink &+= 1 }
        handler.endElementNs = { _, _, _, _ in FeedReading.sink &+= 1 }
        handler.characters = { _, _, count in FeedReading.sink &+= Int(count) }
        handler.cdataBlock = { _, _, count in FeedReading.sink &+= Int(count) }
        return document.withUnsafeBytes { buffer in
            Int(
                xmlSAXUserParseMemory(&handler, nil, buffer.bindMemory(to: CChar.self).baseAddress, Int32(buffer.count))
            )
        }
    }

    private static func entries(_ document: [UInt8]) -> Int {
        (try? FeedReader.read(document, url: "https://news.example/feed", contentType: nil))?.entries.count ?? 0
    }

    private static func texts(_ document: [UInt8]) -> Int {
        guard let feed = try? FeedReader.read(document, url: "https://news.example/feed", contentType: nil) else {
            return 0
        }
        return feed.entries.reduce(0) { $0 + ($1.title?.utf8.count ?? 0) + ($1.summary(limit: 300)?.utf8.count ?? 0) }
    }

    // MARK: The documents

    /// Well-formed feeds only: libxml2 alone stops at the first fault, and its rate would be of nothing.
    private static func documents(below folder: String) -> [[UInt8]] {
        let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return paths.sorted().compactMap { path in
            guard let data = FileManager.default.contents(atPath: "\(folder)/\(path)"), !data.isEmpty else {
                return nil
            }
            let bytes = [UInt8](data)
            guard bytes.contains(0x3C), scanned(bytes) == 0,
                let feed = try? FeedReader.read(bytes, url: "https://news.example/feed", contentType: nil),
                feed.malformed == nil
            else { return nil }
            return bytes
        }
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
