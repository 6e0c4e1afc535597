/// The sites on the body that a package knows, and the words that tables use for them.
///
/// Sites of published data sets differ in detail: HAM10000 has the back, ISIC the posterior torso. A word stands for the
/// first of its ``broader`` names that the package has. Words are English or German.
package struct BodySites: Hashable, Sendable {
    /// The site of a picture without one.
    package static let unknown = "unknown"
    /// The classifier takes the index. ``unknown`` is among them.
    package let names: [String]
    private let byLowercase: [String: String]
    private let bySimplified: [String: String]

    /// - Parameter names: with ``unknown``, each once.
    package init(_ names: [String]) {
        self.names = names
        byLowercase = Dictionary(names.map { ($0.lowercased(), $0) }) { first, _ in first }
        bySimplified = Dictionary(names.map { (Self.simplified($0), $0) }) { first, _ in first }
    }

    /// A site of the package by its own name, whatever the case.
    func named(_ text: String) -> String? { byLowercase[text.lowercased()] }

    /// A site of the package by its name, however it is punctuated, or by a synonym; and whether the word is less exact than
    /// the site: "trunk" is neither side of the torso.
    func match(_ text: String) -> (site: String, isAssumed: Bool)? {
        if let exact = named(text) { return (exact, false) }
        let word = Self.simplified(text)
        // The side does not matter where the package has no site on it.
        let bare = word.split(separator: " ").filter { !Self.sides.contains(String($0)) }.joined(separator: " ")
        for word in [word, bare] {
            let exact = bySimplified[word] ?? Self.broader[word]?.lazy.compactMap { bySimplified[$0] }.first
            if let exact { return (exact, false) }
        }
        guard let name = Self.assumed[bare], let site = bySimplified[name] else { return nil }
        return (site, true)
    }

    private static let sides: Set<String> = [
        "left", "right", "links", "linke", "linker", "linkes", "rechts", "rechte", "rechter", "rechtes",
    ]

    /// Lower case, one space for punctuation, "and" and "or": "Head_and-Neck" becomes "head neck".
    private static func simplified(_ text: String) -> String {
        let words = text.prefix(200).lowercased().split { !$0.isLetter && !$0.isNumber }
        return words.filter { $0 != "and" && $0 != "or" }.joined(separator: " ")
    }

    private static let head = ["head neck", "head"]
    private static let anterior = ["anterior torso", "torso", "trunk"]
    private static let posterior = ["posterior torso", "back", "torso", "trunk"]
    private static let lateral = ["lateral torso", "torso", "trunk"]
    private static let lower = ["lower extremity", "leg"]
    private static let upper = ["upper extremity", "arm"]
    private static let acral = ["palms soles", "acral"]

    /// The package's possible names for a word, the most specific first. Hands and feet are limbs, and palms and soles
    /// apart, as in the ISIC archive; HAM10000's acral skin is that of palms and soles. Shoulders are upper limbs and buttocks are
    /// trunk, as in ICD-10 (C43.6, C43.5).
    private static let broader: [String: [String]] = {
        let words: [(String, [String])] = [
            ("head|neck|head neck|head neck face|face|scalp|ear|nose|cheek|forehead|temple|eyelid|chin|lip|lips", head),
            ("kopf|hals|kopf hals|gesicht|kopfhaut|ohr|nase|wange|stirn|schläfe|lid|kinn|lippe", head),
            ("anterior torso|anterior trunk|chest|abdomen|brust|bauch", anterior),
            ("posterior torso|posterior trunk|back|upper back|lower back|rücken", posterior),
            ("buttock|buttocks|gesäß", ["posterior torso", "torso", "trunk"]),
            ("lateral torso|lateral trunk|flank|flanke", lateral),
            ("torso|trunk|rumpf", ["torso", "trunk"]),
            ("lower extremity|lower extremities|lower limb|lower limbs|leg|legs|thigh|knee|calf|shin|ankle", lower),
            ("lower leg|bein|beine|oberschenkel|unterschenkel|wade|knöchel", lower),
            ("foot|feet|fuß|fuss|füße", ["foot"] + lower),
            ("upper extremity|upper extremities|upper limb|upper limbs|arm|arms|upper arm|forearm|elbow|wrist", upper),
            ("shoulder|shoulders|schulter|arme|oberarm|unterarm|ellenbogen|handgelenk", upper),
            ("hand|hands|hände", ["hand"] + upper),
            ("palms soles|palm|palms|sole|soles|acral|acral palms soles|handfläche|fußsohle", acral),
            ("palm of hand|sole of foot", acral),
            ("oral genital|genital", ["oral genital", "genital"]),
            ("genitals|genitalia|genital areas", ["oral genital", "genital"]),
            ("oral|mouth|oral mucosa|mund|mundschleimhaut", ["oral genital", "oral"]),
        ]
        var broader: [String: [String]] = [:]
        for (list, names) in words {
            for word in list.split(separator: "|") { broader[String(word)] = names }
        }
        return broader
    }()

    /// For packages without a site for the whole torso.
    private static let assumed = ["trunk": "anterior torso", "torso": "anterior torso", "rumpf": "anterior torso"]
}
