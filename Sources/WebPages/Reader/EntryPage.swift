/// Asks a reader or an operator to confirm the use of a link: a preview of the link must not use it up.
package struct EntryPage: WebPage {
    package let template: String
    package let frame: PageFrame
    package let title: String
    let code: String

    package init(frame: PageFrame, code: String, isOfOperator: Bool = false) {
        template = isOfOperator ? "operator-enter" : "invitation"
        title = "\(isOfOperator ? "Operator" : frame.words[.invitation]) – \(frame.name)"
        self.frame = frame
        self.code = code
    }
}
