import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneRadiomics
import NocturneTestSupport
import Testing

@Suite("Digital phantom of the standard")
struct DigitalPhantomTests {
    @Test("every reference value is met within its tolerance, to three digits")
    func referenceValues() throws {
        let region = try #require(try DigitalPhantom.region())
        let values = try Radiomics.values(of: region, settings: DigitalPhantom.settings, scope: .serial())
        let byName = Dictionary(uniqueKeysWithValues: values.map { ($0.name, $0) })
        let references = try DigitalPhantom.references()
        #expect(references.count == 487)
        var agreed = 0
        for reference in references {
            guard let expected = reference.value else { continue }
            let found = byName[reference.name]?.value ?? .nan
            let rounded = Double(String(format: "%.3g", found)) ?? .nan
            let agrees = isClose(rounded, expected, absolute: reference.tolerance, relative: 1e-9)
            agreed += agrees ? 1 : 0
            #expect(agrees, "\(reference.name): \(found), expected \(reference.text) ± \(reference.tolerance)")
        }
        #expect(agreed == 482)
        #expect(values.count == 482)
    }

    @Test("169 features have different names and codes")
    func features() {
        let features = Radiomics.features
        #expect(features.count == 169)
        #expect(Set(features.map(\.name)).count == 169)
        #expect(Set(features.map(\.code)).count == 169)
        #expect(features.allSatisfy { $0.code.count == 4 })
    }

    @Test("codes state the aggregation of textures")
    func codes() throws {
        let region = try #require(try DigitalPhantom.region())
        let values = try Radiomics.values(of: region, settings: DigitalPhantom.settings, scope: .serial())
        let byName = Dictionary(uniqueKeysWithValues: values.map { ($0.name, $0.code) })
        #expect(byName["morph_volume"] == "RNU0")
        #expect(byName["cm_joint_max_2D_avg"] == "GYBY.BTW3")
        #expect(byName["rlm_sre_2_5D_comb"] == "22OV.ZW7Z")
        #expect(byName["szm_sze_3D"] == "5QRC.KOBO")
        #expect(Set(values.map(\.code)).count == values.count)
    }

    @Test("only the families and aggregations of the settings are computed")
    func selection() throws {
        let region = try #require(try DigitalPhantom.region())
        var settings = DigitalPhantom.settings
        settings.families = [.glcm, .ngtdm]
        settings.texture.aggregations = [.volumeAveraged]
        let values = try Radiomics.values(of: region, settings: settings, scope: .serial())
        #expect(values.count == 30)
        #expect(values.allSatisfy { $0.name.hasSuffix("_3D_avg") || $0.name.hasSuffix("_3D") })
    }
}
