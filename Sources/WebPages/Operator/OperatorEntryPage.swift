/// Asks an operator to confirm the use of a link: a preview of the link must not use it up.
package struct OperatorEntryPage: WebPage {
    package let template = "operator-enter"
    package let frame: PageFrame
    package var title: String { "Operator – \(frame.name)" }
    let action: String
    let code: String

    package init(frame: PageFrame, action: String, code: String) {
        self.frame = frame
        self.action = action
        self.code = code
    }
}
