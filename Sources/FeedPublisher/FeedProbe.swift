package import Feeds

/// What a person who checks one feed sees of it; nothing is stored.
package enum FeedProbe: Sendable {
    /// - Parameters:
    ///   - url: Where the document came from, after redirects.
    ///   - movedTo: Where permanent redirects led.
    case feed(Feed, url: String, movedTo: String?)
    /// A line that says what is wrong and what could be done.
    case trouble(String)
}

extension FeedFetcher {
    /// Asks for a feed as a pass would, unconditionally, and reads it.
    ///
    /// `file` is the list's, to be named in advice.
    package func probe(_ source: FeedSource, file: String) async -> FeedProbe {
        switch await fetch(source, FeedRecord(id: 0, url: source.address.text), file: file) {
        case .document(let document):
            do {
                let feed = try FeedReader.read(document.body, url: document.url, contentType: document.contentType)
                return .feed(feed, url: document.url, movedTo: document.movedTo)
            } catch {
                return .trouble(FetchFailure.reading(error).line(source))
            }
        case .failed(let failure): return .trouble(failure.line(source))
        case .unchanged, .cancelled: return .trouble("feed '\(source.address.display)' was not asked for")
        }
    }
}
