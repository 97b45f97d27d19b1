extension DemoFiles {
    /// A String Catalog in eight languages.
    static let catalog = #"""
        {"sourceLanguage": "en", "version": "1.0", "strings": {
        "GAME": {"localizations": {
          "en": {"stringUnit": {"state": "translated", "value": "%@ challenges you to a game"}},
          "de": {"stringUnit": {"state": "translated", "value": "%@ fordert dich zum Spiel heraus"}},
          "es": {"stringUnit": {"state": "translated", "value": "%@ te reta a una partida"}},
          "fr": {"stringUnit": {"state": "translated", "value": "%@ vous défie"}},
          "ru": {"stringUnit": {"state": "translated", "value": "%@ вызывает вас на игру"}},
          "ar": {"stringUnit": {"state": "translated", "value": "%@ يتحداك في لعبة"}},
          "ja": {"stringUnit": {"state": "translated", "value": "%@から対戦の申し込みです"}},
          "pl": {"stringUnit": {"state": "translated", "value": "%@ rzuca ci wyzwanie"}}
        }},
        "PARCEL": {"localizations": {
          "en": {"stringUnit": {"state": "translated", "value": "Arrives between %1$@ and %2$@"}},
          "de": {"stringUnit": {"state": "translated", "value": "Kommt zwischen %1$@ und %2$@ Uhr"}},
          "es": {"stringUnit": {"state": "translated", "value": "Llega entre las %1$@ y las %2$@"}},
          "fr": {"stringUnit": {"state": "translated", "value": "Arrive entre %1$@ et %2$@"}},
          "ru": {"stringUnit": {"state": "translated", "value": "Доставка с %1$@ до %2$@"}},
          "ar": {"stringUnit": {"state": "translated", "value": "تصل بين %1$@ و %2$@"}},
          "ja": {"stringUnit": {"state": "translated", "value": "%1$@から%2$@の間に届きます"}},
          "pl": {"stringUnit": {"state": "translated", "value": "Dotrze między %1$@ a %2$@"}}
        }},
        "PARCEL_TITLE": {"localizations": {
          "en": {"stringUnit": {"state": "translated", "value": "Your parcel"}},
          "de": {"stringUnit": {"state": "translated", "value": "Dein Paket"}},
          "es": {"stringUnit": {"state": "translated", "value": "Tu paquete"}},
          "fr": {"stringUnit": {"state": "translated", "value": "Votre colis"}},
          "ru": {"stringUnit": {"state": "translated", "value": "Ваша посылка"}},
          "ar": {"stringUnit": {"state": "translated", "value": "طردك"}},
          "ja": {"stringUnit": {"state": "translated", "value": "お荷物"}},
          "pl": {"stringUnit": {"state": "translated", "value": "Twoja paczka"}}
        }},
        "PHOTOS": {"localizations": {
          "en": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld new photo from %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld new photos from %2$@"}}
          }}},
          "de": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld neues Foto von %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld neue Fotos von %2$@"}}
          }}},
          "es": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld foto nueva de %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld fotos nuevas de %2$@"}}
          }}},
          "fr": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld nouvelle photo de %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld nouvelles photos de %2$@"}}
          }}},
          "ru": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld новое фото от %2$@"}},
            "few": {"stringUnit": {"state": "translated", "value": "%1$lld новых фото от %2$@"}},
            "many": {"stringUnit": {"state": "translated", "value": "%1$lld новых фото от %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld новых фото от %2$@"}}
          }}},
          "ar": {"variations": {"plural": {
            "zero": {"stringUnit": {"state": "translated", "value": "لا صور جديدة من %2$@"}},
            "one": {"stringUnit": {"state": "translated", "value": "صورة جديدة من %2$@"}},
            "two": {"stringUnit": {"state": "translated", "value": "صورتان جديدتان من %2$@"}},
            "few": {"stringUnit": {"state": "translated", "value": "%1$lld صور جديدة من %2$@"}},
            "many": {"stringUnit": {"state": "translated", "value": "%1$lld صورة جديدة من %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld صورة جديدة من %2$@"}}
          }}},
          "ja": {"variations": {"plural": {
            "other": {"stringUnit": {"state": "translated", "value": "%2$@からの新しい写真が%1$lld枚"}}
          }}},
          "pl": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld nowe zdjęcie od: %2$@"}},
            "few": {"stringUnit": {"state": "translated", "value": "%1$lld nowe zdjęcia od: %2$@"}},
            "many": {"stringUnit": {"state": "translated", "value": "%1$lld nowych zdjęć od: %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld nowego zdjęcia od: %2$@"}}
          }}}
        }}
        }}

        """#
}
