/// The text of a secure message.
package struct SecurePage: WebPage {
    package let template = "secure"
    package let frame: PageFrame
    package var title: String { "\(frame.words[.secureTitle]) – \(frame.name)" }
    let text: String

    package init(frame: PageFrame, text: String) {
        self.frame = frame
        self.text = text
    }
}
