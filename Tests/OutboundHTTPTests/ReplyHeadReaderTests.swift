import Testing

@testable import OutboundHTTP

@Suite struct ReplyHeadReaderTests {
    private func read(_ lines: [[UInt8]]) -> [ReplyHeadReader.Step] {
        var reader = ReplyHeadReader()
        return lines.map { line in line.withUnsafeBytes { reader.read($0) } }
    }

    private func read(_ lines: String...) -> [ReplyHeadReader.Step] {
        read(lines.map { Array("\($0)\r\n".utf8) })
    }

    @Test func `interim replies are skipped and trailers ignored`() throws {
        let steps = read(
            "HTTP/1.1 100 Continue",
            "",
            "HTTP/1.1 103 Early Hints",
            "Link: x",
            "",
            "HTTP/2 200",
            "ETag:  W/\"a\"\t",
            "",
            "Trailer: late"
        )
        let head = ReplyHead(status: 200, headers: OutboundHeaders([("ETag", "W/\"a\"")]))
        #expect(steps.dropLast().last == .complete(head))
        #expect(steps.last == .ignored)
    }

    @Test(arguments: ["ICY 200 OK", "HTTP/1.1", "HTTP/1.1 abc", "HTTP/1.1 7 x", "<html>"])
    func `a line that is not a status line is refused`(_ line: String) {
        guard case .refused = read(line).last else {
            Issue.record("not refused")
            return
        }
    }

    @Test func `a header that never ends is refused`() {
        let lines = (0..<10).map { Array("X-\($0): \(String(repeating: "a", count: 10_000))\r\n".utf8) }
        guard case .refused = read([Array("HTTP/1.1 200 OK\r\n".utf8)] + lines).last else {
            Issue.record("not refused")
            return
        }
    }

    @Test func `a value that is not UTF-8 is kept byte for scalar`() {
        let steps = read([Array("HTTP/1.1 200\r\n".utf8), [0x45, 0x3A, 0xE4, 0x0D, 0x0A], [0x0D, 0x0A]])
        guard case .complete(let head) = steps.last else {
            Issue.record("not complete")
            return
        }
        #expect(head.headers["E"] == "ä")
        #expect(head.headers.field("E")?.bytes == [0xE4])
    }

    @Test func `headers are found in any case and in order`() {
        let headers = OutboundHeaders([("Link", "1"), ("ETag", "e"), ("LINK", "2")])
        #expect(headers["etag"] == "e")
        #expect(headers.all("link") == ["1", "2"])
        #expect(headers["eta"] == nil)
    }
}
