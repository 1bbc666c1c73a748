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

    /// The largest number of hubs whose pages are kept.
    private static let maximumHubs = 16

    /// By the address of the hub.
    private let last = Mutex(BoundedTable<String, Rendered>(maximumCount: maximumHubs))

    /// The page as HTML, rendered if it differs from the one before.
    func body(of page: ReaderPage, _ templates: PageTemplates) -> ByteBuffer {
        let home = page.frame.home
        if let former = last.withLock({ $0[home] }), former.page == page { return former.body }
        let body = ByteBuffer(string: templates.render(page))
        last.withLock { $0[home] = Rendered(page: page, body: body) }
        return body
    }
}
