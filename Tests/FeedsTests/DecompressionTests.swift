import CZlib
import Testing

@testable import Feeds

struct DecompressionTests {
    private static let document = Array(
        "<rss><channel><item><guid>1</guid></item><item><guid>2</guid></item></channel></rss>".utf8
    )

    private func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        // 31: the largest window, and gzip's header.
        try #require(deflateInit2_(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK)
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        return input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                _ = deflate(&stream, Z_FINISH)
                return Array(output.prefix(output.count - Int(stream.avail_out)))
            }
        }
    }

    private func ids(_ bytes: [UInt8]) throws -> [String?] {
        try FeedReader.read(bytes, url: "https://x.example/", contentType: nil).entries.map(\.id)
    }

    @Test func `gzip that nobody announced is undone, twice if need be`() throws {
        #expect(try ids(gzip(Self.document)) == ["1", "2"])
        #expect(try ids(gzip(gzip(Self.document))) == ["1", "2"])
    }

    @Test func `members that follow one another are one document`() throws {
        #expect(
            try ids(gzip(Array(Self.document.prefix(40))) + gzip(Array(Self.document.dropFirst(40)))) == ["1", "2"]
        )
    }

    @Test func `bytes after the end of the gzip file are dropped`() throws {
        let ends: [[UInt8]] = [[0], [UInt8](repeating: 0, count: 70_000), Array("<!-- cached -->".utf8), [0x1F, 0x8B]]
        for end in ends { #expect(try ids(gzip(Self.document) + end) == ["1", "2"]) }
    }

    @Test func `a flood of empty members ends`() throws {
        let empty = try gzip([])
        let flood = [[UInt8]](repeating: empty, count: FeedReader.maximumBytes / empty.count).flatMap(\.self)
        #expect(throws: FeedError.self) { try ids(flood + gzip(Self.document)) }
    }

    @Test func `a cut body is read as far as it goes`() throws {
        let items = (0..<2_000).map { "<item><guid>\($0 &* 2_654_435_761)</guid></item>" }.joined()
        let whole = try gzip(Array("<rss><channel>\(items)</channel></rss>".utf8))
        let feed = try FeedReader.read(Array(whole.prefix(whole.count / 2)), url: "", contentType: nil)
        #expect(!feed.isComplete && (100..<2_000).contains(feed.entries.count))
    }

    @Test func `a bomb ends in a clear error`() throws {
        let bomb = try gzip([UInt8](repeating: 0x20, count: 8 << 20))
        #expect(throws: FeedError.unreadable(reason: "it expands to more than 200 times its size")) { try ids(bomb) }
        let huge = try gzip(
            (0..<(5 << 20)).flatMap { [UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13), 0, 0, 0] }
        )
        #expect(throws: FeedError.tooLarge(limit: FeedReader.maximumBytes)) { try ids(huge) }
        let nested = try gzip(gzip(gzip(gzip(Self.document))))
        #expect(throws: FeedError.unreadable(reason: "it is compressed more than 3 times over")) { try ids(nested) }
    }

    @Test func `what only begins like gzip says so`() {
        #expect(throws: FeedError.unreadable(reason: "it begins like gzip but is not")) {
            try ids([0x1F, 0x8B, 1, 2, 3])
        }
    }
}
