import Formats
import FuzzCheck
import Markup

@testable import HubProtocol

/// Compiles a template and renders it: the first line is a value of the message, the rest the body.
///
/// Whatever a sender writes, JSON stays JSON and XML stays well-formed, and what is no expression stays byte for byte.
@_cdecl("LLVMFuzzerTestOneInput")
public func readTemplate(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let (value, body) = firstLine(start, count)
    let template: Template
    do throws(TemplateError) {
        template = try Template(parsing: body)
    } catch {
        check((0...body.unicodeScalars.count).contains(error.offset), error.description)
        checkSentence(error.description)
        return 0
    }
    let names = template.propertyNames.sorted()
    render(template, [:], [:])
    let properties = names.map { (MessageProperty(rawValue: $0), value) }
    render(template, Dictionary(uniqueKeysWithValues: properties), [:])
    render(template, [:], Dictionary(uniqueKeysWithValues: names.map { ($0, value) }))
    if names.isEmpty {
        let message = MessageProperties(["a": value])
        check(template.render(message) == template.render(MessageProperties([:])), "a value where none is asked for")
    }
    return 0
}

private func render(_ template: Template, _ values: [MessageProperty: String], _ variables: [String: String]) {
    guard let rendered = template.render(MessageProperties(values), variables: PushVariables(variables)) else { return }
    check(rendered.utf8.count <= Template.maximumRenderedBytes, "\(rendered.utf8.count) bytes")
    switch template.syntax {
    case .json:
        do throws(JSONSyntaxError) {
            let root = try JSONReader.read(Array(rendered.utf8))
            guard case .object = root.content else { return check(false, rendered) }
        } catch {
            check(false, "\(error) in \(rendered)")
        }
    case .xml:
        do {
            try XMLWellFormedness.check(XMLDeclaration.withoutEncoding(rendered))
        } catch {
            check(false, "\(error) in \(rendered)")
        }
    }
}
