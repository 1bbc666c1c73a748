/// A page with one piece of information, such as the reason of a refusal and what to do.
package struct NoticePage: WebPage {
    package let template = "notice"
    package let frame: PageFrame
    package var title: String { "\(heading) – \(frame.name)" }
    let heading: String
    let text: String

    package init(frame: PageFrame, heading: String, text: String) {
        self.frame = frame
        self.heading = heading
        self.text = text
    }

    /// Creates a page in the language of its frame.
    package init(frame: PageFrame, _ notice: PageNotice, _ values: [String: String] = [:]) {
        let (heading, text) = frame.words.notice(notice, values)
        self.init(frame: frame, heading: heading, text: text)
    }
}
