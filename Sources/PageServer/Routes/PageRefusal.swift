import AppBackend
import HTTPTypes
import WebPages

/// A refusal that is shown to readers.
struct PageRefusal: Error {
    private enum Content {
        case notice(PageNotice, [String: String])
        /// The texts of the operator's view, which has one language.
        case operatorText(heading: String, text: String)
    }

    let status: HTTPResponse.Status
    /// The frame of a hub's pages; `nil` for that of the server.
    private let frame: PageFrame?
    private let content: Content
    /// The value of `Retry-After` in seconds; `nil` if waiting does not help.
    let retryAfter: Int64?
    /// Further fields of the response.
    var fields: HTTPFields = [:]

    private init(_ status: HTTPResponse.Status, _ frame: PageFrame?, _ content: Content, retryAfter: Int64?) {
        self.status = status
        self.frame = frame
        self.content = content
        self.retryAfter = retryAfter
    }

    /// Refuses in the language of the frame, or of the request without one; `values` are those of the notice's text.
    init(
        _ status: HTTPResponse.Status,
        _ frame: PageFrame?,
        _ notice: PageNotice,
        _ values: [String: String] = [:],
        retryAfter: Int64? = nil
    ) {
        self.init(status, frame, .notice(notice, values), retryAfter: retryAfter)
    }

    /// Refuses a request of an operator.
    init(_ status: HTTPResponse.Status, _ frame: PageFrame, heading: String, text: String) {
        self.init(status, frame, .operatorText(heading: heading, text: text), retryAfter: nil)
    }

    /// The page; `words` are those of the request.
    func page(in words: PageWords) -> NoticePage {
        let frame = frame ?? Self.server(words)
        return switch content {
        case .notice(let notice, let values): NoticePage(frame: frame, notice, values)
        case .operatorText(let heading, let text): NoticePage(frame: frame, heading: heading, text: text)
        }
    }

    static let notFound = PageRefusal(.notFound, nil, .notFound)
    static let stopping = PageRefusal(.serviceUnavailable, nil, .stopping)
    static let unavailable = PageRefusal(.serviceUnavailable, nil, .unavailable, retryAfter: 5)
    static let failed = PageRefusal(.internalServerError, nil, .failed)

    /// The refusal of a request whose session has ended meanwhile.
    static func ended(_ frame: PageFrame) -> PageRefusal { PageRefusal(.unauthorized, frame, .sessionEnded) }

    static func uninvited(_ frame: PageFrame) -> PageRefusal {
        PageRefusal(.unauthorized, frame, frame.signIn == nil ? .uninvited : .uninvitedWithUsers)
    }

    /// Creates a refusal from one of the app backend, with its sentence.
    init(_ refusal: BackendRefusal) {
        let wait = refusal.headers[.retryAfter].flatMap { Int64($0) }
        self.init(refusal.status, nil, .refused, ["reason": refusal.reason], retryAfter: wait)
    }

    /// The frame of pages that belong to no hub.
    static func server(_ words: PageWords) -> PageFrame { PageFrame(name: "newswire", home: "/", words: words) }
}
