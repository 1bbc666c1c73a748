import Foundation
import OutboundHTTP
import HubTestServer
import Testing

@testable import FeedLists

struct FeedSearchTests {
    private let site: FakeSite
    private let http = OutboundClient(userAgent: "newswire-tests")

    init() throws { site = try FakeSite() }

    private func page(_ links: String) -> FakeSite.Document {
        FakeSite.Document(body: "<!DOCTYPE html><html><head>\(links)</head><body>x</body></html>")
    }

    private func link(_ path: String) -> String { "<link rel=alternate type=application/rss+xml href='\(path)'>" }

    private func search(_ path: String, guesses: Bool = false) async throws -> [FeedSearch.Candidate] {
        let found = try await FeedSearch(http: http, addresses: .any).candidates(of: site.url(path), guesses: guesses)
        await http.shutdown()
        return found
    }

    private func feed(_ title: String) -> FakeSite.Document {
        let entry = "<item><title>a</title></item>"
        return FakeSite.Document(body: "<rss version='2.0'><channel><title>\(title)</title>\(entry)</channel></rss>")
    }

    @Test func `a feed is found by its own address`() async throws {
        site.set("/f", feed("Town"))
        let found = try await search("/f")
        #expect(found.map(\.title) == ["Town"] && found.map(\.format) == ["rss-2.0"])
        #expect(found.map(\.entries) == [1] && found.map(\.source) == [.address])
    }

    @Test func `a page's feeds are checked, comment feeds come last, and other documents say why they are not feeds`()
        async throws
    {
        site.set("/", page(link("/comments/feed") + link("/gone") + link("/page") + link("/main")))
        site.set("/comments/feed", feed("Comments for Town"))
        site.set("/main", feed("Town"))
        site.set("/page", page(""))
        let found = try await search("/")
        #expect(found.map(\.address) == ["/main", "/comments/feed", "/gone", "/page"].map(site.url))
        #expect(found[2].problem == "it answered 404" && found[3].problem?.contains("web page") == true)
    }

    @Test func `usual addresses are tried on request alone`() async throws {
        site.set("/news/", page(""))
        site.set("/atom.xml", feed("Town"))
        #expect(try await search("/news/") == [])
        #expect(site.requests("/atom.xml").isEmpty)
        let client = OutboundClient(userAgent: "newswire-tests")
        let search = FeedSearch(http: client, addresses: .any)
        let found = try await search.candidates(of: site.url("/news/"), guesses: true)
        await client.shutdown()
        #expect(found.map(\.address) == [site.url("/atom.xml")] && found.map(\.source) == [.guess])
    }

    @Test func `no more than ten of a page's feeds are asked for`() async throws {
        site.set("/", page((0..<30).map { link("/f\($0)") }.joined()))
        #expect(try await search("/").count == 10)
        #expect(site.requests("/f10").isEmpty)
    }

    @Test func `an address that is not public, or has no document, is an error`() async throws {
        let closed = FeedSearch(http: http)
        let error = await #expect(throws: FeedSearchError.self) {
            _ = try await closed.candidates(of: site.url("/"), guesses: true)
        }
        #expect(error?.description.contains("not a public address") == true)
        let missing = await #expect(throws: FeedSearchError.self) { _ = try await search("/nowhere") }
        #expect(missing?.description.hasSuffix("it answered 404") == true)
    }
}

struct FeedBatchTests {
    @Test func `a bad line of a list is named by its number in the file`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "nw-list-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("a.rss\n\n{}\n".utf8).write(to: URL(filePath: path))
        let error = #expect(throws: FeedBatch.BadLine.self) { try FeedBatch.items(ofListAt: path) }
        #expect(error?.line == 3)
        try Data("a.rss\n\nb.rss\n".utf8).write(to: URL(filePath: path))
        #expect(try FeedBatch.items(ofListAt: path).map(\.name) == ["a.rss", "b.rss"])
    }
}
