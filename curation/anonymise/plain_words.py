"""Words of everyday language that are listed as names as well (Will, Grace, Brown), and names of
countries, cities, days and months: a capital alone makes none of them a person."""

from __future__ import annotations

_WORDS = """
    abe ace add addison admiral africa african age agent alabama ale ally almond alpha alta alto
    amazon america american ami among amor ang angeles ani ante ants apple april ara arab arch
    archer archie are aria arizona art arts ashes asia asian asks asp aspen ass ast aston
    atlanta atlas aud august aura aus austin australia author autumn babe baby back bail bal
    bald ball ban banks bar barber bare baron bas baseball basic basil bass bath bean beard beat
    bee beer begin bell bella belle bent berg berlin best beta bible bien bills bins birch bird
    bishop bite black blanc blank blaze blessing bliss block blossom bogus bois bond bones boon
    booth bor bore bos boss boston bot bra brain branch brand brands brandy bravo brazil brick
    bridge bridges bright brit british brooklyn brown bud buddy bullock bunk burger burns bus
    bush buster butch butcher cal california cam camp camps can canada canal candy cannon cant
    canton canyon cap captain car card cares carolina carpenter carrier carry cas casa case
    cases cash catholic chambers champ champagne chance char charity chase che chelsea cher
    cherish cherry chicago chile chin china chinese chip christ christian chuck church cinnamon
    clear cleveland client cliff close code cole collier colon columbus come comfort comment
    commodore company con conn constant conte contra contractor convey cook cop coral cord costa
    council cousin creed cross cruise crystal cuba curry curtain customer dai daisy dakota
    dallas dam danish dans dar dare das dash date dawn day deacon dear december decker deep del
    dell della delta demi den denver der desire destiny detroit dev devi dia diamond die din dis
    diver divine doc dock doctor doll don dos dot dove dow drew drop drum dub durant dusty dutch
    each early earnest easter echo edit elder else emit emmy england english era erm error esa
    essence ether europe european eve ever export facebook facts fair fairy faith falcon fall
    fan fancy far farmer fate february fed fee fella ferry field fielding fields finch finnish
    fisher fit fleet flight flo flood floor florida flowers font foot ford forest forget forum
    foster franc france frances freely freeman french fresh friday friend front frost fry gal
    gala gall gamble gang gas gates gauge gay gene general genie gent georgia georgian german
    germany ginger glass glasses god golden good google governor grab grace grand grande grant
    gravel graves gray green greet grey grill grit gross grove guard gun gut hacker hal hall ham
    hammer han hand handler handy har harden hardy harm harmony haven hay hearty heather heaven
    held hell hello helm hence herb herd het hide hill hills holder holland holmes holt hood
    hoof hook hoop hope horace horn hotel house houston hung hunt hurt ibn ide import india
    indiana infant ing innocent invoice ion ireland irish islam israel italian italy ivory ivy
    jail january jed jersey jesus jet jewel jewish job joke jordan journey joy judge jug jul
    julio july jun june junior junk justice kale kan kar karma kenya key kick kidney killer kind
    kindle king kiss klein lace lad lady lan lance lange las lavender law lawyer lean lei lemon
    les less liberty lie lies liga lim limo lin lincoln line link lips list little loan lon
    london long loot lord lot louisiana love low lower loyal lucky lulu lung lux mace mach mad
    madam made madison magic mai maj major mak mal male man mane mar march mare marine mark
    marks marry mars marsh marshal mart martial mas mast master mastercard mat mate mater math
    maverick max maxim may mayo mayor meadow meadows media medic meg mel melbourne melody
    memphis mens mentor merchant mercy merry messiah meta mexico miami mich microsoft mil milan
    mile miles mills min miner minor mir miracle missouri mist misty mitt model mol monday monk
    monks mont montana moody moon moons more moss mou mountain mule muslim must nada nail nam
    nan nanny nas nashville nazi nel nell nevada nickel nil ninja noble nord north nova november
    obama october odd odds okay olive ora oracle oral orange orchard org orlando ott over pace
    page pages pak pal palm pam pan pap par para parent paris park parks parts pastor pat
    patience paw paypal peace pearl peer penny pepper per petit pets petty philippines phoenix
    pier pike pin ping pink piper pla plank pleasant please pol poland pole poll pont pop poppy
    post potter power powers precious prem pres press price priest prima prince prior proc
    prosper puck purity put queen rae raid rails ram ran rand ransom ras raven read reader real
    reason red reeves refund rei rein ren repo report rice rich riddle ridge rim rin ring river
    rivers roach roar rock rocky rode roll rom roman rome room roots ros rose rout royal ruby
    run rus rush russian rust sad saga sage said saint sales salmon san sands sandy sane sang
    sans saturday savage sawyer scotland sears seattle sec sem sen sep september sera server
    seven sever shade sharp she shepherd shine sho short sia side sie silk silver sim sincere
    sing singer singleton sinner sip sir sire siren sister skip sky slater small smart snow sol
    solar sole som son song soon sorry spain spanish sparks spears spring springer stack star
    stark steer sterling stern stock stone storm storms stormy story strand street strong such
    sue suits summer sun sunday sung sunny sunshine sur sus swift swiss swords sydney tab tack
    tailor tak tal tan tang tank tea tennessee ter terra tesla tex texas thank thanks the thor
    thursday ticket ties til till tiny tod tone too topic tor torrent tours trace tran travers
    tre treasure tri true tuesday uber una und underwood unique unknown unnamed uno urban user
    vain val valid valves van vance vanessa var velvet ver victory vid vida viking vikings villa
    ville violet virginia visa vita von wage wal wall walls warmer warrior wash washington water
    waters way weaver wednesday weeks wells wen were west white wild wilder will willow windy
    wing winter winters wise wit wood woods worth yeah yes yoga york young zak zero
"""
PLAIN_WORDS = frozenset(_WORDS.split())
