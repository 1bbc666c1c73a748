import Foundation

extension Reply {
    /// All of the reply: the status, the headers in the order of their names, an empty line, the body.
    ///
    /// What is another one each time is checked and stands as its name in braces.
    var whole: String {
        let lines = headers.sorted { $0.key < $1.key }.map { name, value in
            switch name {
            case "date": "date: \(value.hasSuffix(" GMT") ? "{date}" : value)"
            case "content-length": "content-length: \(Int(value) == body.utf8.count ? "{length}" : value)"
            default: "\(name): \(UUID(uuidString: value) == nil ? value : "{guid}")"
            }
        }
        return (["\(status)"] + lines + ["", timeless]).joined(separator: "\n")
    }

    /// The body; a refusal says the time of the machine.
    private var timeless: String {
        body.replacing(/TimeStamp:\d{1,2}\/\d{1,2}\/\d{4} \d{1,2}:\d{2}:\d{2} [AP]M/, with: "TimeStamp:{now}")
    }
}
