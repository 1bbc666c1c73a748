import Markup

/// The children of a registration's description by name, in any order.
///
/// Source: protocol §3.7.
struct RegistrationFields {
    private var elements = [XMLElement?](repeating: nil, count: RegistrationField.allCases.count)
    /// True if an element is marked as having no value.
    private let hasNil: Bool

    private static let table = XMLNameTable(
        AtomNames.vocabulary,
        names: RegistrationField.allCases.map(\.qualifiedName)
    )

    /// Unknown elements are ignored, as in the service.
    init(_ description: XMLElement, _ problems: inout ProblemList) {
        hasNil = description.documentUses(AtomNames.nilAttribute)
        for child in description.children {
            if let position = Self.table.position(of: child) {
                if elements[position] != nil { problems.add("\(child.localName) appears twice") }
                elements[position] = child
            } else if RegistrationField.names.contains(child.localName) {
                problems.add("\(child.localName) is in \(child.shownNamespace), not in '\(AtomNames.serviceBus)'")
            }
        }
    }

    /// The element; `nil` if it is absent or marked as nil.
    subscript(field: RegistrationField) -> XMLElement? {
        guard let element = elements[field.rawValue] else { return nil }
        if hasNil, let text = element.attribute(AtomNames.nilAttribute), text == "true" || text == "1" { return nil }
        return element
    }

    /// The unchanged text of an element.
    func text(_ field: RegistrationField, _ problems: inout ProblemList) -> String? {
        self[field].flatMap { element in
            guard !element.hasChildElements else {
                problems.add("\(field.name) contains an element; put its text into a CDATA section")
                return nil
            }
            return element.text
        }
    }

    func required(_ field: RegistrationField, _ problems: inout ProblemList) -> String? {
        guard self[field] != nil else {
            problems.add("\(field.name) is missing")
            return nil
        }
        return text(field, &problems)
    }
}

extension XMLElement {
    /// The namespace as an error names it.
    var shownNamespace: String { namespace.map { "namespace '\($0.excerpt)'" } ?? "no namespace" }
}
