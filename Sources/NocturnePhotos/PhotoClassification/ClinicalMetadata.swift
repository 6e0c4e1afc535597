import Foundation
import NocturneRecipeSupport
public import NocturneSystem

/// Metadata of the person in a picture, limited to what classifiers take.
public struct ClinicalMetadata: Hashable, Sendable, Codable {
    public enum Sex: String, Hashable, Sendable, Codable, CaseIterable { case male, female, unknown }

    /// In years; nil if missing.
    public let age: Double?
    public let sex: Sex
    /// One of the package's sites; ``PhotoMetadataSettings/unknownSite`` if missing.
    public let site: String

    public static let unknown = ClinicalMetadata(age: nil, sex: .unknown, site: PhotoMetadataSettings.unknownSite)

    package init(age: Double?, sex: Sex, site: String) {
        self.age = age
        self.sex = sex
        self.site = site
    }

    /// Parses the three fields as ISIC writes them. Empty fields and values such as NA mean unknown.
    /// - Throws: ``ClinicalMetadataError`` that names the invalid field; the caller adds its location.
    public init(age: String?, sex: String?, site: String?, settings: PhotoMetadataSettings)
        throws(ClinicalMetadataError)
    {
        if let text = ClinicalMetadata.known(age) {
            guard let value = ClinicalMetadata.number(text) else {
                throw ClinicalMetadataError(detail: "age_approx \"\(text.prefix(40))\" is not a number")
            }
            self.age = value
        } else {
            self.age = nil
        }
        let word = ClinicalMetadata.known(sex)?.lowercased() ?? Sex.unknown.rawValue
        guard let sex = Sex(rawValue: word) else {
            throw ClinicalMetadataError(detail: "sex \"\(word.prefix(40))\" is not one of male, female, unknown")
        }
        self.sex = sex
        let place = ClinicalMetadata.known(site) ?? PhotoMetadataSettings.unknownSite
        guard let found = settings.sites.first(where: { $0.lowercased() == place.lowercased() }) else {
            throw ClinicalMetadataError(
                detail: "anatom_site_general \"\(place.prefix(40))\" is not one of "
                    + settings.sites.joined(separator: ", ")
            )
        }
        self.site = found
    }

    /// The classifier's input: age / 100 clamped to 0…1, or 0 if missing; 1 if the age is missing, else 0; 0 male, 1
    /// female, 2 unknown; the index of the site.
    public func vector(_ settings: PhotoMetadataSettings) -> [Float] {
        let index = settings.sites.firstIndex(of: site) ?? 0
        let code: Float =
            switch sex {
            case .male: 0
            case .female: 1
            case .unknown: 2
            }
        return [Float(min(max((age ?? 0) / 100, 0), 1)), age == nil ? 1 : 0, code, Float(index)]
    }

    /// Formats an age, without decimals if it is whole.
    static func text(_ age: Double) -> String {
        age == age.rounded() && abs(age) < 1e6 ? "\(Int(age))" : "\(age)"
    }

    /// Nil for the values that spreadsheets and programs write for unknown.
    private static func known(_ field: String?) -> String? {
        guard let text = field?.trimmingCharacters(in: .whitespacesAndNewlines) else { return nil }
        return ["", "na", "n/a", "nan", "null", "none", "unknown"].contains(text.lowercased()) ? nil : text
    }

    /// Parses a decimal number only: no hexadecimal digits, no infinity, which `Double` would accept.
    private static func number(_ text: String) -> Double? {
        guard text.utf8.allSatisfy({ "+-.0123456789eE".utf8.contains($0) }), let value = Double(text), value.isFinite
        else { return nil }
        return value
    }
}

/// A field that cannot be parsed.
public struct ClinicalMetadataError: CodedError, Hashable, Sendable, CustomStringConvertible {
    public let detail: String
    public var faultCode: FaultCode { FaultCode("metadata", "invalid") }
    public var description: String { detail }
}
