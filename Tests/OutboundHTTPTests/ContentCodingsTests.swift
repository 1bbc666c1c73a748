import Testing

@testable import OutboundHTTP

@Suite struct ContentCodingsTests {
    @Test(
        arguments: [
            (["gzip"], false), (["UTF-8"], false), (["aws-chunked"], false), (["binary"], false),
            (["aws-chunked, gzip"], false),
            ([""], false), ([], false), (["br"], true), ([" Deflate "], true), (["zstd"], true),
            (["gzip", "br"], true),
        ] as [([String], Bool)]
    )
    func `only real codings need a decoder`(fields: [String], expected: Bool) {
        let headers = OutboundHeaders(fields.map { ("Content-Encoding", $0) })
        #expect(ContentCodings.needsDecoder(headers) == expected)
    }

    @Test(
        arguments: [
            (1 << 3 | 1 << 23 | 1 << 26, "gzip, br, zstd"), (1 << 3, "gzip"), (1 << 26, "zstd"), (1 << 4, nil),
            (0, nil),
        ] as [(Int32, String?)]
    )
    func `only what libcurl can undo is asked for`(_ features: Int32, _ field: String?) {
        #expect(ContentCodings.accepted(features: features) == field)
    }
}
