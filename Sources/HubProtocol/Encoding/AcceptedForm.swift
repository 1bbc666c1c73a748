/// The form of a reply that a client asks for with `Accept`.
///
/// Source: RFC 9110 §12.5.1.
package enum AcceptedForm: Sendable, Equatable {
    /// The protocol's own form.
    case standard
    case json
    case atom

    /// Maximum number of ranges that are read; clients send three or four.
    private static let maximumRanges = 16

    /// Reads the form that a client prefers.
    ///
    /// The first of equal ones counts. Without a header, or with one that names neither JSON nor Atom, it is
    /// ``standard``.
    package init(accept header: String?) {
        var best: (form: AcceptedForm, quality: Double) = (.standard, 0)
        for range in (header ?? "").split(separator: ",").prefix(Self.maximumRanges) {
            let type = MediaType(String(range))
            let quality = type["q"].flatMap(Double.init) ?? 1
            if quality > best.quality { best = (Self.form(of: type.name), quality) }
        }
        self = best.form
    }

    private static func form(of name: String) -> AcceptedForm {
        switch name {
        case "application/json", "text/json": .json
        case "application/atom+xml": .atom
        default: .standard
        }
    }
}
