import NIOCore
import Signals
import Synchronization
import WebPages

/// The reader's page of each hub for readers without a session, who all see the same.
///
/// Rendering takes most of the time of a request. Breaking news brings many such readers at once.
final class SharedPages: Sendable {
    private struct Rendered {
        let page: ReaderPage
        let body: ByteBuffer
    }

    /// The largest number of pages that are kept: one of each hub and language.
    private static let maximumPages = 32

    /// By the language and the address of the hub.
    private let last = Mutex(BoundedTable<String, Rendered>(maximumCount: maximumPages))

    /// The page as HTML, rendered if it differs from the one before.
    func body(of page: ReaderPage, _ templates: PageTemplates) -> ByteBuffer {
        let key = "\(page.frame.words.language) \(page.frame.home)"
        if let former = last.withLock({ $0[key] }), former.page == page { return former.body }
        let body = ByteBuffer(string: templates.render(page))
        last.withLock { $0[key] = Rendered(page: page, body: body) }
        return body
    }
}
