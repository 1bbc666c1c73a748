import Formats
package import FoundationEssentials

extension ProtocolError {
    /// Largest reply body that is searched for an error, in bytes.
    package static let maximumXMLBytes = 65_536

    /// The reply body, on one line as the clients need it (protocol §1.6, §2).
    ///
    /// `Code` is the status, as recorded from the service; the sub-code shows in the detail's opening words.
    package func xml(trackingID: String, at date: Date) -> String {
        let suffix = ".TrackingId:\(trackingID),TimeStamp:\(ISODateTime.formatUS(date))"
        return "<Error><Code>\(status)</Code><Detail>\(XMLText.escaped(sentence + suffix))</Detail></Error>"
    }

    /// The detail as a sentence: parsers begin theirs in lower case, since they appear inside other texts as well.
    var sentence: String {
        let word = detail.prefix { $0.isASCII && $0.isLowercase }
        guard !word.isEmpty, detail[word.endIndex...].first == " " else { return detail }
        return detail.prefix(1).uppercased() + detail.dropFirst()
    }

    /// Reads the body of a refusal, ours or the service's; `nil` if it has no `Error`.
    ///
    /// The reply's own `status` takes precedence over `Code`.
    package init?(xml text: String, status: Int? = nil) {
        guard text.utf8.count <= Self.maximumXMLBytes, let start = text.range(ofASCII: "<Error")?.upperBound,
            let code = Self.content(of: "Code", in: text[start...]).flatMap({ Int($0.trimmed) }),
            (100...599).contains(code) || (10_000...59_999).contains(code)
        else { return nil }
        var detail = Self.content(of: "Detail", in: text[start...]) ?? ""
        if let suffix = detail.range(ofASCII: ".TrackingId:") { detail = String(detail[..<suffix.lowerBound]) }
        self.init(
            status: status ?? (code > 599 ? code / 100 : code),
            code: Self.subCode(detail) ?? (code > 599 ? code : nil),
            detail: detail
        )
    }

    private static func content(of element: String, in text: Substring) -> String? {
        guard let start = text.range(ofASCII: "<\(element)>")?.upperBound,
            let end = text.range(ofASCII: "</\(element)>", from: start)?.lowerBound
        else { return nil }
        let raw = String(text[start..<end])
        return XMLReferences.resolve(Array(raw.utf8)[...], isAttribute: false)?.string ?? raw
    }

    /// The code that the detail's opening words denote: `SubCode=40900`, or a name such as `ExpiredToken:`.
    private static func subCode(_ detail: String) -> Int? {
        if let mark = detail.range(ofASCII: "SubCode=") {
            return Int(detail[mark.upperBound...].prefix { $0.isASCIIDigit }.prefix(6))
        }
        let name = detail.prefix { $0 != ":" && $0 != " " && $0 != "." }.lowercased()
        if let code = namedCodes[name] { return code.number }
        return detail.range(ofASCII: " claim is required ") == nil ? nil : Code.claimRequired.number
    }

    private static let namedCodes = [
        "missingtoken": Code.missingToken, "invalidsignature": .invalidSignature,
        "invalidaudience": .invalidAudience, "malformedtoken": .malformedToken,
        "expiredtoken": .expiredToken, "listenquotaexceeded": .listenQuota, "quotaexceeded": .quotaExceeded,
    ]
}
