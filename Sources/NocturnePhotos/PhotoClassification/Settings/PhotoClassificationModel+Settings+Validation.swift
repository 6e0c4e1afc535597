import NocturneCore
import NocturneInference
import NocturneNumerics

extension PhotoClassificationModel.Settings {
    /// The section `photoClassification` as written; only types have been checked.
    struct Section: Codable {
        /// `title` is shown in place of the name, `malignant` is false where it is missing; the colour is `#rrggbb`.
        struct Class: Codable {
            let name: String
            let title: String?
            let malignant: Bool?
            let color: String
        }

        /// Names of classes, and scores from 0 to 1.
        struct Risk: Codable {
            let highClasses: [String]
            let highThreshold: Double
            let moderateThreshold: Double
        }

        /// The sites that the network knows, in the order of its input.
        struct Metadata: Codable { let sites: [String] }

        /// Files of the package; `attention` is optional.
        struct Networks: Codable {
            let classifier: String
            let attention: String?
        }

        let inputSize: WholeNumber
        let minimumSide: WholeNumber?
        let mean: [Double]
        let standardDeviation: [Double]
        let colorConstancyPower: Double?
        let medical: Bool?
        let output: String?
        let classes: [Class]
        let risk: Risk?
        let lowConfidence: Double?
        let minimumLead: Double?
        let metadata: Metadata?
        let networks: Networks
    }
}

extension ModelValidation {
    /// Validates the section `photoClassification`.
    func photoClassification(
        _ raw: PhotoClassificationModel.Settings.Section,
        files: [ModelFile]
    ) throws(ModelPackageError) -> PhotoClassificationModel.Settings {
        let section = PhotoClassificationModel.Settings.section
        let size = try whole(raw.inputSize, 0, in: 16...2048, key: "\(section).inputSize")
        let minimum = try whole(raw.minimumSide, 1, in: 1...8192, key: "\(section).minimumSide")
        // The power of ``ShadesOfGray``, the usual one for dermoscopy; null for colours as they are.
        if let power = raw.colorConstancyPower, power != 6 {
            throw refuse("\(section).colorConstancyPower", expected: "6 or null", found: power)
        }
        let output: PhotoClassificationModel.Settings.Output = try choice(
            raw.output,
            .logits,
            ["logits", "probabilities"],
            key: "\(section).output"
        )
        let classes = try photoClasses(raw.classes, key: "\(section).classes")
        let mean = try threeColors(raw.mean, key: "\(section).mean")
        let deviation = try threeColors(raw.standardDeviation, key: "\(section).standardDeviation")
        // Samples are divided by it.
        guard deviation.allSatisfy({ $0 > 0 }) else {
            throw refuse("\(section).standardDeviation", expected: "three numbers above 0", found: deviation)
        }
        var attention: String?
        if let path = raw.networks.attention {
            attention = try listedFile(path, files, key: "\(section).networks.attention")
        }
        return PhotoClassificationModel.Settings(
            inputSize: size,
            minimumSide: minimum,
            colors: NetworkColors(mean: mean, deviation: deviation),
            usesColorConstancy: raw.colorConstancyPower != nil,
            isMedical: raw.medical ?? true,
            output: output,
            classes: classes,
            risk: try risk(raw.risk, classes: classes, key: "\(section).risk"),
            lowConfidence: try share(raw.lowConfidence ?? 0.2, key: "\(section).lowConfidence"),
            minimumLead: try share(raw.minimumLead ?? 0.05, key: "\(section).minimumLead"),
            metadata: try metadata(raw.metadata, key: "\(section).metadata"),
            classifier: try listedFile(raw.networks.classifier, files, key: "\(section).networks.classifier"),
            attention: attention
        )
    }

    private func photoClasses(
        _ raw: [PhotoClassificationModel.Settings.Section.Class],
        key: String
    ) throws(ModelPackageError) -> [PhotoClassificationModel.Settings.Class] {
        guard (2...10_000).contains(raw.count) else {
            throw refuse(key, expected: "2...10000 classes", found: raw.count)
        }
        var classes: [PhotoClassificationModel.Settings.Class] = []
        var names: Set<String> = []
        for (index, item) in raw.enumerated() {
            let key = "\(key)[\(index)]"
            guard Self.isSafeName(item.name) else {
                throw refuse("\(key).name", expected: "1 to 100 of the characters A-Z a-z 0-9 _ . -", found: item.name)
            }
            // Names are keys of the result: scores of two classes could not be distinguished.
            guard names.insert(item.name).inserted else {
                throw refuse("\(key).name", expected: "every name once", found: "\(item.name) twice")
            }
            guard let color = LabelColor(item.color) else {
                throw refuse("\(key).color", expected: "#rrggbb", found: item.color)
            }
            let title = item.title ?? item.name
            guard (1...80).contains(title.count) else {
                throw refuse("\(key).title", expected: "1 to 80 characters", found: title)
            }
            classes.append(
                PhotoClassificationModel.Settings.Class(
                    name: item.name,
                    title: title,
                    isMalignant: item.malignant ?? false,
                    color: color
                )
            )
        }
        return classes
    }

    private func risk(
        _ raw: PhotoClassificationModel.Settings.Section.Risk?,
        classes: [PhotoClassificationModel.Settings.Class],
        key: String
    ) throws(ModelPackageError) -> PhotoClassificationModel.Settings.Risk? {
        guard let raw else { return nil }
        let known = Set(classes.map(\.name))
        // A misspelt class would never raise the risk, which nobody would notice.
        for (index, name) in raw.highClasses.enumerated() where !known.contains(name) {
            throw refuse("\(key).highClasses[\(index)]", expected: "the name of a class", found: name)
        }
        return PhotoClassificationModel.Settings.Risk(
            highClasses: raw.highClasses,
            highThreshold: try share(raw.highThreshold, key: "\(key).highThreshold"),
            moderateThreshold: try share(raw.moderateThreshold, key: "\(key).moderateThreshold")
        )
    }

    private func metadata(
        _ raw: PhotoClassificationModel.Settings.Section.Metadata?,
        key: String
    ) throws(ModelPackageError) -> BodySites? {
        guard let raw else { return nil }
        guard Set(raw.sites).count == raw.sites.count, raw.sites.count <= 10_000 else {
            throw refuse("\(key).sites", expected: "every site once", found: raw.sites)
        }
        // The site of a person whose metadata do not state one that the model knows.
        guard raw.sites.contains(BodySites.unknown) else {
            throw refuse(
                "\(key).sites",
                expected: "\"\(BodySites.unknown)\" among the sites",
                found: raw.sites
            )
        }
        return BodySites(raw.sites)
    }

    private func share(_ value: Double, key: String) throws(ModelPackageError) -> Double {
        guard value >= 0, value <= 1 else { throw refuse(key, expected: "0...1", found: value) }
        return value
    }
}
